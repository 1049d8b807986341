"""The limit on a body's size."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reame.api.scopes import header
from reame.errors import PayloadTooLargeError


class BodyLimit:
    """Refuses bodies over ``max_bytes``: at once when the length is told, else while they come."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        told = header(scope, b"content-length") or b""
        if told.isdigit() and int(told[:20]) > self._max_bytes:
            raise self._too_large()
        num_bytes = 0

        async def receive_counted() -> Message:
            nonlocal num_bytes
            message = await receive()
            num_bytes += len(message.get("body", b""))
            if num_bytes > self._max_bytes:
                raise self._too_large()
            return message

        await self._app(scope, receive_counted, send)

    def _too_large(self) -> PayloadTooLargeError:
        mib = self._max_bytes / (1024 * 1024)
        return PayloadTooLargeError(
            f"The body is larger than {mib:g} MiB, the limit of [server] max_request_size_mb."
        )
