"""One request's times and outcome, into the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from reame.api.failures import ClientGoneError, RequestTimeoutError
from reame.api.merge import Indexed
from reame.errors import EngineUnavailableError, OverloadedError, RequestError
from reame.metrics import Metrics
from reame.types import GenerateEvent


class Observer:
    """Watches one request. ``began_s`` is when it came, by ``clock``."""

    def __init__(
        self, metrics: Metrics, clock: Callable[[], float], num_sequences: int, stream: bool
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._began_s = clock()
        self._stream = stream
        self._last_s: list[float | None] = [None] * num_sequences

    async def watch(self, events: AsyncGenerator[Indexed, None]) -> AsyncGenerator[Indexed, None]:
        """Pass ``events`` on."""
        async with aclosing(events):
            async for index, event in events:
                self._see(index, event)
                yield index, event

    def _see(self, index: int, event: GenerateEvent) -> None:
        if event.ids and self._stream:
            now_s, last_s = self._clock(), self._last_s[index]
            if last_s is None:
                self._metrics.ttft.observe(now_s - self._began_s)
            else:
                self._metrics.itl.observe((now_s - last_s) / len(event.ids))
            self._last_s[index] = now_s
        if event.finish is not None:
            self._metrics.finished(event.finish)


def count_outcome(metrics: Metrics, error: BaseException | None, elapsed_s: float) -> None:
    """Count a request that ended with ``error``, or well with ``None``."""
    outcome = _outcome(error)
    metrics.requests.labels(outcome).inc()
    metrics.request.observe(elapsed_s)
    if outcome == "cancelled":
        metrics.cancelled.inc()


def _outcome(error: BaseException | None) -> str:
    match error:
        case None:
            return "ok"
        case ClientGoneError() | asyncio.CancelledError() | GeneratorExit():
            return "cancelled"
        case RequestError():
            return "refused"
        case OverloadedError() | EngineUnavailableError():
            return "overloaded"
        case RequestTimeoutError():
            return "timeout"
        case _:
            return "error"
