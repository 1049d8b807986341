"""Work that ends when its client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.types import Receive

from reame.api.failures import ClientGoneError, RequestTimeoutError

T = TypeVar("T")


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` and watch the connection meanwhile; the body must have been read.

    However this ends, also when it is cancelled itself, ``work`` has ended too.

    Raises:
        ClientGoneError: the client left first; ``work`` was cancelled.
    """
    worker = asyncio.create_task(work)
    watcher = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((worker, watcher), return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return worker.result()
        raise ClientGoneError
    finally:
        worker.cancel()
        watcher.cancel()
        await asyncio.gather(worker, watcher, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def deadline(timeout_s: float | None) -> AsyncGenerator[None, None]:
    """Cancel the block after ``timeout_s``.

    Raises:
        RequestTimeoutError: the time is over.
    """
    try:
        async with asyncio.timeout(timeout_s) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise RequestTimeoutError(
            f"The answer was not complete after {timeout_s:g} seconds, the limit of [server] timeout_seconds."
        ) from error
