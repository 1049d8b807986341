"""Whether a fetched file is the one that was meant."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from reame.catalog.summary import check_gguf
from reame.errors import ModelInvalidError


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of the file beforehand."""

    size: int | None = None
    sha256: str | None = None


def verify(path: Path, expected: Expected) -> None:
    """Check size, structure and content.

    Raises:
        ModelInvalidError: it is not the expected file; says in what it differs.
    """
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        raise ModelInvalidError(f"{path} has {size} bytes, but {expected.size} were expected")
    check_gguf(path)
    if expected.sha256 is not None:
        found = file_sha256(path)
        if found != expected.sha256:
            raise ModelInvalidError(f"{path} has the sha256 {found}, but {expected.sha256} was expected")


def is_valid(path: Path, expected: Expected) -> bool:
    """Whether the expected file is there already."""
    if not path.is_file():
        return False
    try:
        verify(path, expected)
    except ModelInvalidError:
        return False
    return True


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
