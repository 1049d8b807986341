"""Chat messages and raw prompts to token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reame.errors import InvalidRequestError
from reame.prompt.messages import for_template
from reame.prompt.provenance import Rendered, TemplateInput, render_safely
from reame.prompt.sources import TemplateOrigin, choose_template
from reame.prompt.template import RESERVED, ChatTemplate
from reame.prompt.tokenizer import Tokenizer
from reame.prompt.traits import probe_traits
from reame.types import TokenId


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as text and as the ids that the model reads; ``ids`` may begin with a BOS that
    ``text`` does not show."""

    text: str
    ids: tuple[TokenId, ...]


class PromptEncoder:
    """Turns what clients send into ids. Safe to use from several threads at once.

    ``origin`` says where the chat template came from, ``traits`` what it does with messages.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        origin: TemplateOrigin = TemplateOrigin.CONFIG,
    ) -> None:
        self.tokenizer = tokenizer
        self.template = template
        self.origin = origin
        self.traits = probe_traits(template)
        self._template_chars = frozenset(template.source)

    @classmethod
    def from_gguf(cls, path: Path, chat_template: str | None = None) -> PromptEncoder:
        """Read vocabulary and template of a GGUF; ``chat_template`` replaces the latter.

        Raises:
            ModelNotFoundError: no such file.
            ModelInvalidError: the vocabulary or the template is broken.
            ConfigError: ``chat_template`` names a file that cannot be read.
        """
        tokenizer = Tokenizer(path)
        chosen = choose_template(chat_template, tokenizer.chat_template, tokenizer.control_texts)
        template = ChatTemplate(
            chosen.text,
            bos_token=tokenizer.text_of(tokenizer.bos_id),
            eos_token=tokenizer.text_of(tokenizer.eos_id),
        )
        return cls(tokenizer, template, chosen.origin)

    def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[object] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
        add_generation_prompt: bool = True,
    ) -> EncodedPrompt:
        """Write messages with the chat template; control tokens come from the template alone.

        Raises:
            InvalidRequestError: the template refuses the messages, or they hold no valid Unicode.
        """
        given = TemplateInput(
            for_template(messages, self.traits), list(tools) if tools else None, _checked(template_kwargs)
        )

        def render(given: TemplateInput) -> str:
            return self.template.render(
                given.messages,
                tools=given.tools,
                add_generation_prompt=add_generation_prompt,
                extra=given.extra,
            )

        try:
            rendered = render_safely(render, given, self.tokenizer.specials, self._template_chars)
        except RecursionError:
            raise InvalidRequestError("the messages are nested too deeply", param="messages") from None
        return EncodedPrompt(rendered.text, tuple(self._ids(rendered)))

    def completion(self, text: str) -> EncodedPrompt:
        """Encode a raw prompt: control tokens in it are read as such, BOS is there once.

        Raises:
            InvalidRequestError: ``text`` is no valid Unicode.
        """
        return EncodedPrompt(text, tuple(self.tokenizer.encode(text, add_bos=True, parse_special=True)))

    def _ids(self, rendered: Rendered) -> list[TokenId]:
        if rendered.parts is None:
            return self.tokenizer.encode(rendered.text, add_bos=True, parse_special=True)
        return self.tokenizer.encode_parts(rendered.parts, add_bos=True)


def _checked(template_kwargs: Mapping[str, object] | None) -> dict[str, object]:
    kwargs = dict(template_kwargs or {})
    if taken := sorted(RESERVED & kwargs.keys()):
        raise InvalidRequestError(
            f"the chat template's {taken[0]} cannot be set this way", param="chat_template_kwargs"
        )
    return kwargs
