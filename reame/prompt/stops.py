"""Finds stop strings in text that arrives in pieces. Pure; standard library only.

An Aho-Corasick automaton: each state is a prefix of a stop string, and reading a character
moves to the longest prefix that the text now ends with. That prefix is exactly what must be
held back, and a state that ends with a stop string is a match. Time per character does not
depend on how much was read before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class StopResult(NamedTuple):
    """``text`` may be shown now. ``matched`` is the stop string that ended the text."""

    text: str
    matched: str | None


class StopMatcher:
    """Lets text through up to the first stop string.

    The stop string that completes first wins, so the result does not depend on how the text
    was cut into pieces and no further token is needed to decide. When several complete at the
    same character, the longest wins, so none of their text is shown. Empty stop strings are
    ignored.
    """

    __slots__ = ("_first", "_held", "_matched", "_root", "_state")

    def __init__(self, stops: Sequence[str]) -> None:
        self._root = _build(stop for stop in stops if stop)
        self._first = frozenset(self._root.next)
        self._state = self._root
        self._held = ""
        self._matched: str | None = None

    def feed(self, text: str) -> StopResult:
        """Take more text. After a match everything is swallowed."""
        if self._matched is not None:
            return StopResult("", self._matched)
        if not self._held and self._first.isdisjoint(text):
            return StopResult(text, None)
        return self._read(text)

    def flush(self) -> str:
        """End the text: what was held back for a stop string that never came."""
        held, self._held = self._held, ""
        self._state = self._root
        return held

    def _read(self, text: str) -> StopResult:
        whole = self._held + text
        state = self._state
        for position, char in enumerate(text, start=len(self._held) + 1):
            state = state.step(char)
            if state.stop is not None:
                self._held = ""
                self._matched = state.stop
                return StopResult(whole[: position - len(state.stop)], state.stop)
        self._state = state
        shown = len(whole) - state.depth
        self._held = whole[shown:]
        return StopResult(whole[:shown], None)


class _State:
    """A prefix of a stop string, ``depth`` characters long."""

    __slots__ = ("depth", "fallback", "next", "stop")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.next: dict[str, _State] = {}
        self.fallback: _State | None = None  # the longest other prefix that this one ends with
        self.stop: str | None = None  # the longest stop string that this prefix ends with

    def step(self, char: str) -> _State:
        state = self
        while True:
            found = state.next.get(char)
            if found is not None:
                return found
            if state.fallback is None:
                return state
            state = state.fallback


def _build(stops: Iterable[str]) -> _State:
    """The automaton's first state, the empty prefix."""
    root = _State(0)
    for stop in stops:
        state = root
        for char in stop:
            state = state.next.setdefault(char, _State(state.depth + 1))
        state.stop = stop
    _link(root)
    return root


def _link(root: _State) -> None:
    """Set fallbacks, shallow states first: each needs those of shorter prefixes."""
    todo = deque([root])
    while todo:
        parent = todo.popleft()
        for char, state in parent.next.items():
            state.fallback = parent.fallback.step(char) if parent.fallback is not None else root
            state.stop = state.stop or state.fallback.stop
            todo.append(state)
