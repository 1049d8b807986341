"""Files of object stores and other file systems, through fsspec."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from reame.catalog.source import CHUNK_BYTES, Opened, TransientError, refused

_VALIDATORS = ("ETag", "etag", "checksum", "mtime", "LastModified", "created")


@dataclass(frozen=True, slots=True)
class FsspecSource:
    """One URL such as ``s3://bucket/model.gguf``; credentials come from the store's own settings."""

    url: str

    @property
    def label(self) -> str:
        """The URL without user, password and query."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @contextmanager
    def open(self, offset: int, validator: str | None) -> Generator[Opened]:
        """Seek to the offset, if the file's ETag or date is still the same."""
        file, info = self._file_and_info()
        with file:
            current, size = _validator(info), info.get("size")
            start = offset if validator is not None and validator == current else 0
            file.seek(start)
            yield Opened(start, int(size) if size is not None else None, current, _chunks(file))

    def _file_and_info(self) -> tuple[Any, Mapping[str, Any]]:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        try:
            fs, path = url_to_fs(self.url, skip_instance_cache=True, use_listings_cache=False)
            return fs.open(path, "rb"), fs.info(path)
        except FileNotFoundError as error:
            raise refused(self.label, "no such file", "check the URL") from error
        except PermissionError as error:
            raise refused(self.label, f"access denied ({error})", "check the store's credentials") from error
        except ImportError as error:
            raise refused(self.label, str(error), "install the named package beside reame") from error
        except ValueError as error:
            raise refused(self.label, str(error), "check the URL") from error
        except Exception as error:  # each store has exceptions of its own, mostly of the network
            raise TransientError(f"{type(error).__name__}: {error}") from error


def _chunks(file: Any) -> Iterator[bytes]:
    while True:
        try:
            data: bytes = file.read(CHUNK_BYTES)
        except Exception as error:  # as when opening
            raise TransientError(f"{type(error).__name__}: {error}") from error
        if not data:
            return
        yield data


def _validator(info: Mapping[str, Any]) -> str | None:
    return next((f"{key}={info[key]}" for key in _VALIDATORS if info.get(key) is not None), None)
