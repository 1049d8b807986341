"""The replica's side of the engine: admission, streams, and a supervisor that restarts it.

Implements :class:`reame.api.protocol.Generator`. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from reame.engine.admission import Admission
from reame.engine.options import EngineOptions
from reame.engine.process import EngineProcess
from reame.errors import (
    ContextLengthError,
    EngineDiedError,
    EngineError,
    EngineUnavailableError,
    OverloadedError,
)
from reame.types import EngineInfo, EngineLoad, GenerateEvent, GenerateRequest

logger = logging.getLogger("reame.engine")

READY_TIMEOUT_S = 120.0
"""How long a request waits for an engine that restarts."""
PING_TIMEOUT_S = 10.0
HEARTBEAT_S = 10.0
_DRAIN_POLL_S = 0.05
_FIRST_BACKOFF_S, _MAX_BACKOFF_S = 0.5, 30.0


class EngineClient:
    """Serves requests from one supervised engine process."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._admission = Admission(max_requests=options.max_requests, num_slots=options.num_slots)
        self._process: EngineProcess | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._life: asyncio.Task[EngineDiedError] | None = None
        self._ready = asyncio.Event()
        self._info: EngineInfo | None = None
        self._draining = False
        self._num_restarts = 0

    async def start(self) -> EngineInfo:
        """Start the engine and wait until it serves.

        Raises:
            EngineError: it cannot be started; says why.
        """
        await self._launch()
        self._tasks = [asyncio.create_task(self._supervise()), asyncio.create_task(self._watch())]
        return await self.info()

    async def _launch(self) -> None:
        """Spawn a process and wait until it serves; one that fails is buried before the error rises."""
        process = await EngineProcess.spawn(self._options)
        self._life = asyncio.create_task(process.run())
        try:
            self._info = await process.ready
        except BaseException:
            process.kill("the engine did not start")
            await self._life
            raise
        self._process = process
        self._ready.set()

    async def _supervise(self) -> None:
        while self._life is not None:
            death = await asyncio.shield(self._life)
            self._ready.clear()
            self._process = None
            self._num_restarts += 1
            logger.error("%s; starting another", death.message)
            await self._relaunch()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await self.check()

    async def _relaunch(self) -> None:
        backoff_s = _FIRST_BACKOFF_S
        while True:
            try:
                return await self._launch()
            except EngineError as error:
                logger.error("the engine did not start: %s; next try in %.1f s", error.message, backoff_s)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _MAX_BACKOFF_S)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
        """Stream one sequence; see :class:`reame.api.protocol.Generator`."""
        self._refuse_if_full()
        self._admission.enter()
        service_s: float | None = None
        try:
            process = await self._ready_process()
            self._refuse_if_too_long(request)
            yield GenerateEvent()
            async with aclosing(process.stream(request)) as events:
                async for event in events:
                    if event.finish is not None:
                        timings = event.finish.timings
                        service_s = (timings.prompt_ms + timings.predicted_ms) / 1000
                    yield event
        finally:
            self._admission.leave(service_s)

    def _refuse_if_full(self) -> None:
        if self._draining:
            raise EngineUnavailableError("this replica is shutting down; send the request again")
        if self._admission.is_full:
            raise OverloadedError(
                f"{self._admission.num_inside} requests are running or waiting, the most that "
                "[server] max_concurrent_requests allows; try again later",
                retry_after_s=self._admission.retry_after_s(),
            )

    def _refuse_if_too_long(self, request: GenerateRequest) -> None:
        limit = self._info.context_length if self._info is not None else self._options.context_length
        if len(request.prompt_ids) + request.max_tokens > limit:
            raise ContextLengthError(
                limit=limit, num_prompt_tokens=len(request.prompt_ids), max_tokens=request.max_tokens
            )

    async def _ready_process(self) -> EngineProcess:
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                while self._process is None or self._process.is_dead:
                    self._ready.clear()
                    await self._ready.wait()
        except TimeoutError:
            raise EngineUnavailableError("the engine is still starting", retry_after_s=10.0) from None
        return self._process

    async def info(self) -> EngineInfo:
        """Describe the engine; waits for it to start."""
        await self._ready_process()
        if self._info is None:
            raise EngineUnavailableError("the engine is still starting")
        return self._info

    async def load(self) -> EngineLoad:
        """Say at once how busy the engine is."""
        process = self._process
        return EngineLoad(
            state=self._state(),
            num_running=process.num_running if process is not None else 0,
            num_waiting=process.num_waiting if process is not None else 0,
            num_slots=self._options.num_slots,
            num_restarts=self._num_restarts,
        )

    def _state(self) -> str:
        if self._draining:
            return "draining"
        if self._ready.is_set():
            return "ready"
        return "restarting" if self._info is not None else "starting"

    async def check(self) -> None:
        """Make sure the engine answers; one that does not is killed, and so restarted.

        Restarting is not a fault of the replica: it stays, and this returns.
        """
        process = self._process
        if process is None or not self._ready.is_set():
            return
        try:
            async with asyncio.timeout(PING_TIMEOUT_S):
                await process.ping()
        except TimeoutError:
            logger.error("the engine did not answer for %.0f s; killing it", PING_TIMEOUT_S)
            process.kill(f"the engine did not answer for {PING_TIMEOUT_S:.0f} s and was ended")
        except EngineDiedError:
            return

    async def drain(self, timeout_s: float) -> int:
        """Refuse new requests, wait for the running ones; return how many were left at the end."""
        self._draining = True
        try:
            async with asyncio.timeout(timeout_s):
                while self._admission.num_inside:  # noqa: ASYNC110 - once in a replica's life
                    await asyncio.sleep(_DRAIN_POLL_S)
        except TimeoutError:
            logger.warning(
                "%d requests were still running after %.0f s", self._admission.num_inside, timeout_s
            )
        return self._admission.num_inside

    async def close(self) -> None:
        """End the engine process; open streams end with EngineDiedError."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ready.clear()
        if self._process is not None:
            self._process.kill("this replica was shut down")
        if self._life is not None:
            await self._life
