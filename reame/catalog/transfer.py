"""Moves the bytes of one source into a ``.part`` file, resuming and retrying."""

from __future__ import annotations

import errno
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reame.catalog.part import PartFile
from reame.catalog.source import Opened, Source, TransientError, refused
from reame.catalog.verify import Expected
from reame.errors import FetchError

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there and the total, if known."""

MAX_FAILURES = 5
SPARE_BYTES = 64 * 2**20
_MAX_WAIT_S = 60.0


def silent(done: int, total: int | None) -> None:
    """Report nothing."""


def free_bytes(folder: Path) -> int:
    """Free space of the folder's disk."""
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world outside a transfer: waiting and disk space."""

    sleep: Callable[[float], None] = time.sleep
    free_bytes: Callable[[Path], int] = free_bytes
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Transfer:
    """One file on its way from one source."""

    source: Source
    part: PartFile
    expected: Expected
    progress: Progress
    around: Surroundings

    def run(self) -> bool:
        """Fill the ``.part`` file; True when older bytes were kept.

        Failures in a row that leave nothing to resume count; any progress starts the count again.

        Raises:
            FetchError: it failed for good; what arrived is kept where it can be resumed.
        """
        kept, validator = self.part.resumable(self.source.label)
        resumed = kept > 0
        failures = 0
        while True:
            before = kept
            try:
                self._attempt(kept, validator)
                return resumed
            except TransientError as error:
                kept, validator = self.part.resumable(self.source.label)
                resumed = resumed and kept > 0
                failures = 1 if kept > before else failures + 1
                if failures >= MAX_FAILURES:
                    raise refused(self.source.label, str(error), "check the network and try again") from error
                self.around.sleep(self._wait(failures, error))
            except OSError as error:
                raise _disk_failure(self.part.path, error) from error

    def _attempt(self, offset: int, validator: str | None) -> None:
        with self.source.open(offset, validator) as opened:
            total = self._total(opened)
            self._check_space(opened, total)
            if opened.start == 0:
                self.part.discard()
                self.part.remember(self.source.label, opened.validator)
            done = self._write(opened, total)
        if total is not None and done != total:
            raise TransientError(f"the transfer ended after {done} of {total} bytes")

    def _write(self, opened: Opened, total: int | None) -> int:
        done = opened.start
        with self.part.path.open("r+b" if opened.start else "wb") as file:
            file.seek(done)
            self.progress(done, total)
            for chunk in opened.chunks:
                file.write(chunk)
                done += len(chunk)
                if total is not None and done > total:
                    self.part.discard()
                    raise refused(
                        self.source.label, f"more than the expected {total} bytes came", "check the URL"
                    )
                self.progress(done, total)
            file.truncate()
        return done

    def _total(self, opened: Opened) -> int | None:
        wanted = self.expected.size
        if opened.total is not None and wanted is not None and opened.total != wanted:
            self.part.discard()
            raise refused(
                self.source.label,
                f"the file has {opened.total} bytes, but {wanted} were expected",
                "it is another version of the model",
            )
        return opened.total if opened.total is not None else wanted

    def _check_space(self, opened: Opened, total: int | None) -> None:
        if total is None:
            return
        folder = self.part.target.parent
        need, free = total - opened.start + SPARE_BYTES, self.around.free_bytes(folder)
        if opened.start == 0:
            free += self.part.size  # an older part gives way
        if free < need:
            raise FetchError(
                f"not enough disk space in {folder}: {need >> 20} MiB needed, {free >> 20} MiB free; "
                "free some, or choose another folder with --dir or REAME_MODELS_DIR"
            )

    def _wait(self, failures: int, error: TransientError) -> float:
        """Seconds to wait: what the server asks, else 1, 2, 4, 8 with up to half as much again."""
        if error.retry_after_s is not None:
            return min(error.retry_after_s, _MAX_WAIT_S)
        return min(2.0 ** (failures - 1) * (1 + self.around.jitter() / 2), _MAX_WAIT_S)


def _disk_failure(path: Path, error: OSError) -> FetchError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FetchError(f"the disk is full: {path} is kept; free some space and run the same command again")
    return FetchError(f"cannot write {path}: {error.strerror}; check the folder's permissions or use --dir")
