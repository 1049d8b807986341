"""Files over HTTP: resumed by range, if the server takes part."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from reame.catalog.references import HubReference
from reame.catalog.source import Opened, TransientError, refused
from reame.errors import FetchError

if TYPE_CHECKING:
    import httpx

DEFAULT_HUB = "https://huggingface.co"
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_CONNECT_TIMEOUT_S = 15.0
_READ_TIMEOUT_S = 60.0
_RANGE_NOT_SATISFIABLE = 416
_PARTIAL = 206
_OK = 200


@dataclass(frozen=True, slots=True)
class HttpSource:
    """One URL. ``headers`` go to its host only: httpx drops Authorization when redirected elsewhere."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    denied_hint: str = "check the URL and that you may read it"

    @property
    def label(self) -> str:
        """The URL without user, password and query, which may hold secrets."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    # Chunks are passed on as they arrive: collected into larger ones, they would be lost in a cut.

    @contextmanager
    def open(self, offset: int, validator: str | None) -> Generator[Opened]:
        """Ask for the rest; a server that ignores ranges sends everything again."""
        import httpx  # only when something is downloaded

        headers = {"Accept-Encoding": "identity", "User-Agent": "reame", **self.headers}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if validator:
                headers["If-Range"] = validator
        timeout = httpx.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
        try:
            with (
                httpx.Client(follow_redirects=True, timeout=timeout) as client,
                client.stream("GET", self.url, headers=headers) as response,
            ):
                yield self._opened(response, offset)
        except httpx.TransportError as error:
            raise TransientError(f"{type(error).__name__}: {error}") from error
        except (httpx.InvalidURL, httpx.HTTPError) as error:
            raise refused(self.label, str(error), "check the URL") from error

    def _opened(self, response: httpx.Response, offset: int) -> Opened:
        status = response.status_code
        validator = _validator(response.headers)
        if status == _OK:
            return Opened(0, _length(response.headers), validator, response.iter_raw())
        if status == _PARTIAL:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if match is not None and int(match[1]) == offset:
                total = None if match[2] == "*" else int(match[2])
                return Opened(offset, total, validator, response.iter_raw())
            raise refused(
                self.label, "the server sent another range than asked for", "try again with no .part file"
            )
        if status == _RANGE_NOT_SATISFIABLE and offset:
            # Nothing is left to send, or the file is shorter now: then begin anew.
            start = offset if response.headers.get("Content-Range") == f"bytes */{offset}" else 0
            return Opened(start, offset, validator, iter(()))
        raise self._failure(status, response.headers)

    def _failure(self, status: int, headers: Mapping[str, str]) -> FetchError | TransientError:
        if status in _TRANSIENT:
            return TransientError(f"HTTP status {status}", retry_after_s=_retry_after(headers))
        if status in (401, 403):
            return refused(self.label, f"HTTP status {status}", self.denied_hint)
        if status == 404:
            return refused(self.label, "HTTP status 404, no such file", "check the URL")
        return refused(self.label, f"HTTP status {status}", "check the URL")


def hub_source(reference: HubReference, environ: Mapping[str, str]) -> HttpSource:
    """A file of the hub, honouring ``HF_ENDPOINT`` and ``HF_TOKEN``."""
    endpoint = (environ.get("HF_ENDPOINT") or DEFAULT_HUB).rstrip("/")
    token = environ.get("HF_TOKEN", "").strip()
    return HttpSource(
        f"{endpoint}/{reference.repo}/resolve/{reference.revision}/{reference.file}",
        headers={"Authorization": f"Bearer {token}"} if token else {},
        denied_hint=(
            "HF_TOKEN does not give access; accept the licence on the model's page"
            if token
            else "accept the licence on the model's page and set HF_TOKEN to a token of yours"
        ),
    )


def _validator(headers: Mapping[str, str]) -> str | None:
    """A strong ETag, else the date; a weak ETag cannot prove that bytes are the same."""
    etag = headers.get("ETag", "")
    if etag.startswith('"'):
        return etag
    return headers.get("Last-Modified") or None


def _length(headers: Mapping[str, str]) -> int | None:
    text = headers.get("Content-Length", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None
