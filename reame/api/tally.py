"""What came of a request so far: texts, counts, ends. The source of ``usage`` and ``timings``."""

from __future__ import annotations

from collections.abc import Sequence

from reame.types import Finish, FinishReason, GenerateEvent

Json = dict[str, object]


class Tally:
    """Adds up the events of a request's sequences."""

    __slots__ = ("_finishes", "_num_generated", "_num_prompt_tokens", "_replica", "_texts")

    def __init__(self, num_sequences: int, num_prompt_tokens: int, replica: str | None) -> None:
        self._texts: tuple[list[str], ...] = tuple([] for _ in range(num_sequences))
        self._finishes: list[Finish | None] = [None] * num_sequences
        self._num_generated = [0] * num_sequences
        self._num_prompt_tokens = num_prompt_tokens
        self._replica = replica

    def add(self, index: int, event: GenerateEvent) -> None:
        """Take one event."""
        self._num_generated[index] += len(event.ids)
        if event.text:
            self._texts[index].append(event.text)
        if event.finish is not None:
            self._finishes[index] = event.finish
            self._num_generated[index] = event.finish.num_generated_tokens

    def texts(self) -> list[str]:
        """Each sequence's text."""
        return ["".join(parts) for parts in self._texts]

    def reasons(self) -> list[FinishReason]:
        """Why each sequence ended."""
        return [finish.reason for finish in self._finishes if finish is not None]

    def usage(self) -> Json:
        """OpenAI's ``usage``. A prompt counts once, however many choices it has."""
        num_generated = sum(self._num_generated)
        return {
            "prompt_tokens": self._num_prompt_tokens,
            "completion_tokens": num_generated,
            "total_tokens": self._num_prompt_tokens + num_generated,
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def timings(self) -> Json:
        """Our ``timings``: counts and times added up over the sequences, the longest wait in the queue."""
        ended: Sequence[Finish] = [finish for finish in self._finishes if finish is not None]
        times = [finish.timings for finish in ended]
        return {
            "prompt_n": sum(t.prompt_n for t in times),
            "prompt_ms": round(sum(t.prompt_ms for t in times), 3),
            "predicted_n": sum(t.predicted_n for t in times),
            "predicted_ms": round(sum(t.predicted_ms for t in times), 3),
            "cache": {"slot": 0, "disk": 0, "mirror": 0},
            "replica": self._replica,
            "queue_ms": round(max((t.queue_ms for t in times), default=0.0), 3),
            "resumed": False,
        }
