"""Request ids and the access log: the outermost layer but CORS."""

from __future__ import annotations

import logging
import re
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reame.api.scopes import REQUEST_ID, header, request_id
from reame.api.service import Clock

access_logger = logging.getLogger("reame.access")

_PROBES = ("/health", "/ready", "/metrics")
_GOOD_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class RequestContext:
    """Gives each request an id, the client's if it is decent; answers carry it. Writes the access log."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began_s = self._clock()
        given = header(scope, b"x-request-id") or b""
        name = given if _GOOD_ID.fullmatch(given) else b"req-" + secrets.token_hex(12).encode()
        scope[REQUEST_ID] = name.decode()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                elapsed_ms = (self._clock() - began_s) * 1000
                marks = [(b"x-request-id", name), (b"openai-processing-ms", b"%d" % elapsed_ms)]
                message = {**message, "headers": [*message["headers"], *marks]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            self._log(scope, status, self._clock() - began_s)

    def _log(self, scope: Scope, status: int, elapsed_s: float) -> None:
        level = logging.DEBUG if scope["path"].endswith(_PROBES) else logging.INFO
        answer = str(status) if status else "no answer: the client left or the request was cancelled"
        access_logger.log(
            level,
            "%s %s %s %.1f ms",
            scope["method"],
            scope["path"],
            answer,
            elapsed_s * 1000,
            extra={"request_id": request_id(scope)},
        )
