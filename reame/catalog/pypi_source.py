"""Files that a wheel carries. pip fetches the wheel, so mirrors, proxies and certificates keep working."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reame.catalog.references import PypiReference
from reame.catalog.source import CHUNK_BYTES, Opened, refused

_SHOWN_LINES = 4


@dataclass(frozen=True, slots=True)
class PypiSource:
    """One member of one wheel. ``scratch`` is a folder on a disk with room for the wheel."""

    reference: PypiReference
    scratch: Path

    @property
    def label(self) -> str:
        """The requirement and the member."""
        return f"{self._requirement} ({self.reference.member})"

    @property
    def _requirement(self) -> str:
        return f"{self.reference.package}=={self.reference.version}"

    @contextmanager
    def open(self, offset: int, validator: str | None) -> Generator[Opened]:
        """Fetch the wheel and unpack its member; a wheel is never resumed, so this begins at 0."""
        del offset, validator
        with (
            tempfile.TemporaryDirectory(prefix=".wheel-", suffix=".part", dir=self.scratch) as folder,
            self._member(self._download(Path(folder))) as (size, file),
        ):
            yield Opened(0, size, None, _chunks(file))

    def _download(self, folder: Path) -> Path:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--no-input",
        ]
        command += ["--quiet", "--progress-bar", "off", "--disable-pip-version-check", "--dest", str(folder)]
        done = subprocess.run(
            [*command, self._requirement], capture_output=True, text=True, errors="replace", check=False
        )
        wheels = list(folder.glob("*.whl"))
        if done.returncode == 0 and len(wheels) == 1:
            return wheels[0]
        if "No module named pip" in done.stderr:
            raise refused(self.label, "this Python has no pip", f"run: {sys.executable} -m ensurepip")
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise refused(
            self.label,
            f"pip failed: {' | '.join(lines[-_SHOWN_LINES:]) or 'without a word'}",
            f"try: {sys.executable} -m pip download --no-deps {self._requirement}",
        )

    @contextmanager
    def _member(self, wheel: Path) -> Generator[tuple[int, IO[bytes]]]:
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(self.reference.member) as file:
                yield archive.getinfo(self.reference.member).file_size, file
        except KeyError as error:
            raise refused(
                self.label, "the wheel has no such member", "check the name after the slash"
            ) from error
        except zipfile.BadZipFile as error:
            raise refused(
                self.label, f"the wheel is damaged ({error})", "clear pip's cache: pip cache purge"
            ) from error


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(CHUNK_BYTES), b"")
