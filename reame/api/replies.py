"""Sends JSON bodies and errors over ASGI."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.responses import Response
from starlette.types import Send

from reame.api.failures import Failure

_NO_HEADERS: Mapping[str, str] = {}


async def send_json(send: Send, status: int, body: bytes, headers: Mapping[str, str] = _NO_HEADERS) -> None:
    """Send a whole JSON answer."""
    listed = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    listed += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


async def send_failure(send: Send, failure: Failure) -> None:
    """Send an error object with its status."""
    await send_json(send, failure.status, failure.body(), failure.headers)


def json_response(body: object) -> Response:
    """A 200 with ``body`` as JSON."""
    return Response(orjson.dumps(body), media_type="application/json")
