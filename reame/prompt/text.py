"""One sequence's tokens to the text that a user may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reame.prompt.detokenize import IncrementalDecoder
from reame.prompt.stops import StopMatcher
from reame.types import TokenId


class TextStream:
    """Pushes tokens, gives text; characters are never split and stop strings never shown.

    ``pieces`` gives the bytes of a token. Not thread-safe: one sequence, one owner.
    """

    __slots__ = ("_decoder", "_pieces", "_stops", "matched")

    def __init__(self, pieces: Callable[[TokenId], bytes], stops: Sequence[str]) -> None:
        self._pieces = pieces
        self._decoder = IncrementalDecoder()
        self._stops = StopMatcher(stops)
        self.matched: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether a stop string came; ``matched`` says which."""
        return self.matched is not None

    def push(self, token_id: TokenId) -> str:
        """Take the next token and return the text that may be shown now."""
        return self._take(self._decoder.feed(self._pieces(token_id)))

    def finish(self) -> str:
        """End the sequence and return the text held back so far."""
        return self._take(self._decoder.flush()) + self._stops.flush()

    def _take(self, text: str) -> str:
        shown, self.matched = self._stops.feed(text)
        return shown
