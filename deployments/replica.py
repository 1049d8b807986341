"""The engine deployment: one supervised engine process behind a Ray Serve replica."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ray import serve

from deployments.conf import load_deployment_settings
from reame.engine.client import EngineClient
from reame.engine.planner import plan_engine
from reame.errors import ReameError
from reame.logs import setup_logging
from reame.types import EngineInfo, EngineLoad, GenerateEvent, GenerateRequest


@serve.deployment
class Engine:
    """Streams sequences; stays when its engine process dies, and starts another."""

    async def __init__(self, config: str | None) -> None:  # type: ignore[misc] # Ray awaits it
        settings = load_deployment_settings(config)
        setup_logging(settings.logging.level, settings.logging.format)
        self._client = EngineClient(plan_engine(settings))
        await self._client.start()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent | ReameError, None]:
        """Stream one sequence. An error is the last item, not raised: Ray would wrap and log it."""
        try:
            async with aclosing(self._client.generate(request)) as events:
                async for event in events:
                    yield event
        except ReameError as error:
            yield error

    async def info(self) -> EngineInfo | ReameError:
        """Describe the engine; an error is returned, not raised."""
        try:
            return await self._client.info()
        except ReameError as error:
            return error

    async def load(self) -> EngineLoad:
        """Say how busy the engine is."""
        return await self._client.load()

    async def check_health(self) -> None:
        """Ray asks every few seconds. The event loop answers however long a prefill takes."""
        await self._client.check()

    async def __del__(self) -> None:
        """Ray calls this after the last request drained."""
        await self._client.close()
