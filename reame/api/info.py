"""What the engine says of itself, remembered for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from reame.api.protocol import Generator
from reame.errors import EngineError
from reame.types import EngineInfo, EngineLoad

_KEEP_S = 60.0
_PATIENCE_S = 2.0


class EngineFacts:
    """Asks the engine at most once a minute: behind Ray each question crosses a process."""

    def __init__(self, generator: Generator, clock: Callable[[], float]) -> None:
        self._generator = generator
        self._clock = clock
        self._info: EngineInfo | None = None
        self._asked_s = 0.0

    async def info(self) -> EngineInfo:
        """The engine's description; waits for it to start.

        Raises:
            EngineUnavailableError: it did not start in time.
        """
        if self._info is None or self._clock() - self._asked_s > _KEEP_S:
            self._info = await self._generator.info()
            self._asked_s = self._clock()
        return self._info

    async def info_soon(self) -> EngineInfo | None:
        """The same, or ``None`` when the engine does not answer at once."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self.info()
        except (TimeoutError, EngineError):
            return None

    async def load_soon(self) -> EngineLoad | None:
        """How busy the engine is, or ``None`` when it does not answer at once."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._generator.load()
        except (TimeoutError, EngineError):
            return None
