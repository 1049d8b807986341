"""One request inside the engine: its tokens, how far they are computed, and its times."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from reame.blocks import full_block_end
from reame.types import GenerateRequest, TokenId


class Phase(Enum):
    """Where a sequence stands."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True, eq=False)
class Sequence:
    """``ids`` are prompt and answer so far; the first ``num_computed`` of them are in the slot's KV.

    A sequence that decodes has one id left to compute; more than one means prefill, be it the
    prompt or, after a preemption, prompt and answer together. ``prefill_end`` is where the full
    blocks of the current prefill end. ``is_suspect`` sequences were in a batch that failed and
    run alone until they prove sound.
    """

    key: int
    request: GenerateRequest
    arrived_s: float
    ids: list[TokenId] = field(default_factory=list)
    num_computed: int = 0
    slot: int | None = None
    phase: Phase = Phase.WAITING
    prefill_end: int = 0
    is_suspect: bool = False
    admitted_s: float | None = None
    first_token_s: float | None = None

    def __post_init__(self) -> None:
        if not self.ids:
            self.ids = list(self.request.prompt_ids)

    @property
    def num_prompt(self) -> int:
        """Tokens of the prompt."""
        return len(self.request.prompt_ids)

    @property
    def num_generated(self) -> int:
        """Tokens of the answer so far."""
        return len(self.ids) - self.num_prompt

    @property
    def num_pending(self) -> int:
        """Ids that are not in the KV yet."""
        return len(self.ids) - self.num_computed

    @property
    def max_length(self) -> int:
        """The most tokens that this sequence can come to."""
        return self.num_prompt + self.request.max_tokens

    def begin_prefill(self) -> None:
        """Fix where whole blocks end for the prefill that starts now."""
        self.prefill_end = full_block_end(len(self.ids))
