"""Ray's handle to the engine deployment, as the API's ``Generator``."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ray.exceptions import RayError
from ray.serve.exceptions import BackPressureError
from ray.serve.handle import DeploymentHandle

from reame.errors import EngineDiedError, EngineUnavailableError, OverloadedError, ReameError
from reame.types import EngineInfo, EngineLoad, GenerateEvent, GenerateRequest


class HandleGenerator:
    """Implements :class:`reame.api.protocol.Generator` over a deployment handle."""

    def __init__(self, handle: DeploymentHandle[Any]) -> None:
        self._handle = handle
        self._streams = handle.options(stream=True)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
        """Stream one sequence from a replica of Ray's choice; closing it cancels the request there."""
        response: Any = self._streams.generate.remote(request)
        ended = False
        try:
            async for item in response:
                if isinstance(item, ReameError):
                    ended = True
                    raise item
                ended = item.finish is not None
                yield item
        except BackPressureError as error:
            raise OverloadedError(str(error), retry_after_s=5.0) from error
        except RayError as error:
            raise EngineDiedError(
                f"the replica that served this request is gone ({type(error).__name__})"
            ) from error
        finally:
            if not ended:
                response.cancel()

    async def info(self) -> EngineInfo:
        """Describe the engine of any replica; waits until one runs."""
        try:
            answer: EngineInfo | ReameError = await self._handle.info.remote()
        except RayError as error:
            raise EngineUnavailableError(f"no replica answers ({type(error).__name__})") from error
        if isinstance(answer, ReameError):
            raise answer
        return answer

    async def load(self) -> EngineLoad:
        """Say how busy a replica is."""
        try:
            load: EngineLoad = await self._handle.load.remote()
        except RayError as error:
            raise EngineUnavailableError(f"no replica answers ({type(error).__name__})") from error
        return load
