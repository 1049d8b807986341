"""The ``.part`` file of a download, and what is needed to go on with it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PartFile:
    """``NAME.part`` beside the target, its origin in ``NAME.state.part``."""

    target: Path

    @property
    def path(self) -> Path:
        """The bytes that arrived so far."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def _state_path(self) -> Path:
        return self.target.with_name(self.target.name + ".state.part")

    @property
    def size(self) -> int:
        """How many bytes arrived so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def resumable(self, origin: str) -> tuple[int, str | None]:
        """Bytes that may be kept and their validator; what came from elsewhere is dropped."""
        try:
            state = json.loads(self._state_path.read_bytes())
            validator = state["validator"]
            if state["origin"] == origin and isinstance(validator, str):
                return self.size, validator
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no state, or none that can be read: begin anew
        self.discard()
        return 0, None

    def remember(self, origin: str, validator: str | None) -> None:
        """Write down where the bytes come from, before the first of them."""
        self._state_path.write_text(json.dumps({"origin": origin, "validator": validator}))

    def discard(self) -> None:
        """Forget what arrived."""
        self.path.unlink(missing_ok=True)
        self._state_path.unlink(missing_ok=True)

    def publish(self) -> None:
        """Give the whole file its name, in one step that survives a power cut."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        self.path.replace(self.target)
        self._state_path.unlink(missing_ok=True)
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def exclusive(target: Path) -> Generator[None]:
    """Let one process at a time fetch ``target``; others wait here."""
    path = target.with_name(target.name + ".lock.part")
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_current(handle, path):
            break
        os.close(handle)  # the former holder removed the file that was waited for
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _is_current(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
