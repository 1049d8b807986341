"""Where exceptions become error objects: the one place that answers for all layers within."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reame.api.failures import ClientGoneError, failure_of
from reame.api.replies import send_failure
from reame.api.scopes import log_failure, request_id


class ErrorBoundary:
    """Turns whatever is raised into an error object, as long as no answer has begun."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        started = False

        async def send_noting(message: Message) -> None:
            nonlocal started
            started = True
            try:
                await send(message)
            except OSError as error:  # how some servers say that nobody reads any more
                raise ClientGoneError from error

        try:
            await self._app(scope, receive, send_noting)
        except (ClientGoneError, ClientDisconnect):
            return
        except Exception as error:
            failure = failure_of(error, request_id(scope))
            log_failure(error, failure.status, request_id(scope))
            if started:
                raise
            await send_failure(send, failure)
