"""What the engine keeps for one sequence besides the scheduler's books: sampler, text, news."""

from __future__ import annotations

from dataclasses import dataclass, field

from reame.engine.llama import Sampler
from reame.engine.sequence import Sequence
from reame.engine.wire import Event
from reame.prompt import TextStream
from reame.types import Finish, FinishReason, Timings, TokenId


@dataclass(slots=True, eq=False)
class Live:
    """One sequence being generated. What is unsent goes out with its next event."""

    sequence: Sequence
    sampler: Sampler
    text: TextStream
    unsent_text: list[str] = field(default_factory=list)
    unsent_ids: list[TokenId] = field(default_factory=list)
    sent_s: float | None = None

    def take(self, token: TokenId, *, is_end: bool) -> FinishReason | None:
        """Add the drawn token; say why the sequence ends with it, if it does."""
        sequence = self.sequence
        sequence.ids.append(token)
        self.unsent_ids.append(token)
        if is_end:
            return FinishReason.STOP
        self.unsent_text.append(self.text.push(token))
        if self.text.stopped:
            return FinishReason.STOP
        is_spent = sequence.num_generated >= sequence.request.max_tokens
        return FinishReason.LENGTH if is_spent else None

    def piece_due(self, now_s: float, *, least_interval_s: float) -> Event | None:
        """The next piece of a stream, when there is text and its time has come; the first at once."""
        wished_s = self.sequence.request.stream_interval_s
        if wished_s is None:
            return None
        if self.sent_s is not None and now_s - self.sent_s < max(wished_s, least_interval_s):
            return None
        text = "".join(self.unsent_text)
        if not text:
            return None
        self.sent_s = now_s
        event = Event(self.sequence.key, text, self.unsent_ids)
        self.unsent_text, self.unsent_ids = [], []
        return event

    def last_event(self, reason: FinishReason, now_s: float) -> Event:
        """All that is unsent, with the end of the sequence."""
        text = "".join(self.unsent_text) + self.text.finish()
        sequence = self.sequence
        finish = Finish(reason, sequence.num_prompt, sequence.num_generated, _timings(sequence, now_s))
        return Event(sequence.key, text, self.unsent_ids, finish)


def _timings(sequence: Sequence, now_s: float) -> Timings:
    admitted_s = sequence.admitted_s if sequence.admitted_s is not None else now_s
    first_s = sequence.first_token_s if sequence.first_token_s is not None else now_s
    return Timings(
        queue_ms=1000 * (admitted_s - sequence.arrived_s),
        prompt_n=sequence.num_prompt,
        prompt_ms=1000 * (first_s - admitted_s),
        predicted_n=sequence.num_generated,
        predicted_ms=1000 * (now_s - first_s),
    )
