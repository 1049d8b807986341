"""Special tokens in text: where they stand, and how to keep text from becoming one. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from reame.types import TokenId

_SPACE = " \t\n\v\f\r"
_NO_CONTROL_TEXT = "\0"


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """A token that llama.cpp finds by its text before it tokenizes what is between.

    A control token steers the model and only a template may write it; the others (user
    defined) may come from anybody. ``strips_*``: it swallows the white space beside it.
    """

    id: TokenId
    text: str
    is_control: bool = True
    strips_left: bool = False
    strips_right: bool = False


class SpecialTokens:
    """The special tokens of a vocabulary. Immutable.

    Control tokens of one character are not recognised in any text: nothing could keep a user's
    character apart from them.
    """

    def __init__(self, tokens: Iterable[SpecialToken]) -> None:
        every = sorted(tokens, key=lambda token: -len(token.text))
        self.has_short_control = any(t.is_control and len(t.text) < 2 for t in every)
        usable = [t for t in every if len(t.text) > 1 or (t.text and not t.is_control)]
        self._control = _by_opening(t for t in usable if t.is_control)
        self._user_defined = _by_opening(t for t in usable if not t.is_control)
        texts = [t.text for t in usable if t.is_control]
        self._openers = frozenset(text[0] for text in texts)
        self._closers = frozenset(text[-1] for text in texts)
        self._edges = self._openers | self._closers
        self._all_control_texts = _NO_CONTROL_TEXT.join(texts)

    def count(self, text: str) -> int:
        """How many special tokens stand in ``text``, at least."""
        present = [*_present(self._control, text), *_present(self._user_defined, text)]
        return sum(text.count(token.text) for token in present)

    def split_control(self, text: str) -> list[str | TokenId]:
        """Cut ``text`` at its control tokens, as llama.cpp does: longer tokens first."""
        return _split([text], _present(self._control, text))

    def split_user_defined(self, text: str) -> list[str | TokenId]:
        """Cut ``text`` at its other special tokens."""
        return _split([text], _present(self._user_defined, text))

    def break_up(self, text: str, mark: str) -> str:
        """Put ``mark`` into each control token that stands in ``text``, so that none is left."""
        cuts = {start + 1 for token in _present(self._control, text) for start in _find_all(text, token.text)}
        if not cuts:
            return text
        edges = [0, *sorted(cuts), len(text)]
        return mark.join(text[a:b] for a, b in pairwise(edges))

    def wall_off(self, text: str, mark: str) -> str:
        """Put ``mark`` where a control token that begins or ends in ``text`` would have to pass."""
        for char in self._openers:
            text = text.replace(char, char + mark)
        for char in self._closers:
            text = text.replace(char, mark + char)
        return text

    def may_touch(self, text: str) -> bool:
        """Whether a control token could begin in, end in, or enclose ``text`` once it is in a prompt."""
        return any(char in text for char in self._edges) or self.may_enclose(text)

    def may_enclose(self, text: str) -> bool:
        """Whether ``text``, white space at its ends aside, is a part of a control token's text."""
        inner = text.strip()
        return bool(inner) and _NO_CONTROL_TEXT not in inner and inner in self._all_control_texts


_Tokens = dict[str, list[SpecialToken]]


def _by_opening(tokens: Iterable[SpecialToken]) -> _Tokens:
    """Group by the first characters: looking for these alone rules most tokens out."""
    groups: defaultdict[str, list[SpecialToken]] = defaultdict(list)
    for token in tokens:
        groups[token.text[:2]].append(token)
    return dict(groups)


def _present(groups: _Tokens, text: str) -> list[SpecialToken]:
    found = [t for opening, group in groups.items() if opening in text for t in group if t.text in text]
    return sorted(found, key=lambda token: -len(token.text))


def _split(parts: list[str | TokenId], tokens: Iterable[SpecialToken]) -> list[str | TokenId]:
    for token in tokens:
        parts = [piece for part in parts for piece in _split_part(part, token)]
    return [part for part in parts if part != ""]


def _split_part(part: str | TokenId, token: SpecialToken) -> Iterator[str | TokenId]:
    if not isinstance(part, str):
        yield part
        return
    runs = part.split(token.text)
    for number, run in enumerate(runs):
        is_first, is_last = number == 0, number == len(runs) - 1
        if not is_first:
            yield token.id
            run = run.lstrip(_SPACE) if token.strips_right else run
        yield run.rstrip(_SPACE) if token.strips_left and not is_last else run


def _find_all(text: str, part: str) -> Iterator[int]:
    """Where ``part`` begins in ``text``, overlapping places too."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)
