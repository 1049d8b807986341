"""What the API needs of whatever generates: an engine beside it, or replicas behind a router."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from reame.types import EngineInfo, EngineLoad, GenerateEvent, GenerateRequest


class Generator(Protocol):
    """Serves token ids with events. Implemented by the engine's client and by the Ray handle."""

    def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
        """Stream one sequence. The first event is empty and says that the request was accepted.

        Closing the generator cancels the sequence within one engine step.

        Raises:
            OverloadedError: before the first event; nothing was queued.
            ContextLengthError: before the first event; the sequence can never fit.
            EngineError: at any event.
        """
        ...

    async def info(self) -> EngineInfo:
        """Describe the engine; waits for it to start.

        Raises:
            EngineUnavailableError: it did not start in time.
        """
        ...

    async def load(self) -> EngineLoad:
        """Say at once how busy the engine is; never waits for it."""
        ...
