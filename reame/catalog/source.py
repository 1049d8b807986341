"""What every source of bytes offers to a download, and the words for its failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from reame.errors import FetchError

CHUNK_BYTES = 1 << 20


class TransientError(Exception):
    """A failure that another try may mend; after ``retry_after_s`` if the server said so."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Opened:
    """An open transfer.

    ``start`` is the position of the first byte: the one asked for, or 0 when the source begins
    anew. ``total`` is the size of the whole file, ``validator`` changes when its content does;
    each is ``None`` when the source does not say.
    """

    start: int
    total: int | None
    validator: str | None
    chunks: Iterator[bytes]


class Source(Protocol):
    """One place to read a file from."""

    @property
    def label(self) -> str:
        """How messages name it; without secrets."""
        ...

    def open(self, offset: int, validator: str | None) -> AbstractContextManager[Opened]:
        """Begin at ``offset`` if the content is still that of ``validator``, else at 0.

        Raises:
            TransientError: another try may succeed; also while reading.
            FetchError: no other try will.
        """
        ...


def refused(label: str, reason: str, mend: str) -> FetchError:
    """A failure for good, with what to do about it."""
    return FetchError(f"cannot fetch {label}: {reason}; {mend}")
