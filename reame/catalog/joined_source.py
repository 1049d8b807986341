"""A file that is kept in several pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reame.catalog.source import Opened, Source, TransientError


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Sources whose contents follow each other."""

    parts: Sequence[Source]

    @property
    def label(self) -> str:
        """All of them."""
        return " + ".join(part.label for part in self.parts)

    @contextmanager
    def open(self, offset: int, validator: str | None) -> Generator[Opened]:
        """Read one part after the other, from the start: parts have no common validator."""
        del offset, validator
        yield Opened(0, None, None, self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        for part in self.parts:
            with part.open(0, None) as opened:
                received = 0
                for chunk in opened.chunks:
                    received += len(chunk)
                    yield chunk
                if opened.total is not None and received != opened.total:
                    raise TransientError(f"{part.label} ended after {received} of {opened.total} bytes")
