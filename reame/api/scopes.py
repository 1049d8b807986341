"""What middlewares leave in the ASGI scope for those behind them, and how failures are logged."""

from __future__ import annotations

import logging

from starlette.types import Scope

from reame.errors import ReameError

REQUEST_ID = "reame.request_id"

logger = logging.getLogger("reame.api")


def request_id(scope: Scope) -> str:
    """The id of this request; the outer middleware sets it."""
    return str(scope.get(REQUEST_ID, "-"))


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of this lower-case name."""
    return next((value for key, value in scope["headers"] if key == name), None)


def log_failure(error: BaseException, status: int, name: str) -> None:
    """Log what went wrong on our side: with a traceback when nobody foresaw it."""
    extra = {"request_id": name}
    if not isinstance(error, ReameError):
        logger.error("request failed: %s", error, exc_info=error, extra=extra)
    elif status >= 500:
        logger.warning("request failed: %s", error.message, extra=extra)
