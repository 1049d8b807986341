"""What the API stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reame.api.protocol import Generator
from reame.prompt import EncodedPrompt
from reame.types import TokenId


class Vocabulary(Protocol):
    """The served model's tokens; :class:`reame.prompt.Tokenizer` is one."""

    vocab_size: int
    bos_id: TokenId | None

    def encode(self, text: str, *, add_bos: bool, parse_special: bool) -> list[TokenId]:
        """Text to ids."""
        ...

    def decode(self, ids: Sequence[TokenId], *, skip_special: bool = False) -> str:
        """Ids to text."""
        ...

    def piece(self, token_id: TokenId) -> bytes:
        """One token's bytes."""
        ...


class Encoder(Protocol):
    """Prompts to ids; :class:`reame.prompt.PromptEncoder` is one. Used from several threads."""

    @property
    def tokenizer(self) -> Vocabulary:
        """The vocabulary."""
        ...

    def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[object] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
        add_generation_prompt: bool = True,
    ) -> EncodedPrompt:
        """Messages through the chat template."""
        ...

    def completion(self, text: str) -> EncodedPrompt:
        """A raw prompt."""
        ...


@dataclass(frozen=True, slots=True)
class Backend:
    """Who generates and who tokenizes. ``replica`` is the name that ``timings`` give, if any."""

    generator: Generator
    encoder: Encoder
    replica: str | None = None
