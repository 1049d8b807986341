"""Ray's handle as the API's generator: errors keep their meaning, leaving cancels."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ray.exceptions import ActorDiedError
from ray.serve.exceptions import BackPressureError

from deployments.handle import HandleGenerator
from reame.errors import (
    ContextLengthError,
    EngineDiedError,
    EngineUnavailableError,
    OverloadedError,
    ReameError,
)
from reame.types import Finish, FinishReason, GenerateEvent, GenerateRequest, Timings

REQUEST = GenerateRequest("r", (1, 2), 4)
END = GenerateEvent("x", (5,), Finish(FinishReason.STOP, 2, 1, Timings()))


class ScriptedResponse:
    """Yields items as a replica would; an exception among them is raised, as Ray would."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self.is_cancelled = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        for item in self._items:
            if isinstance(item, Exception) and not isinstance(item, ReameError):
                raise item
            yield item

    def cancel(self) -> None:
        self.is_cancelled = True


class ScriptedHandle:
    """A handle whose one method answers from a script."""

    def __init__(self, items: list[Any]) -> None:
        self.response = ScriptedResponse(items)

    def options(self, **_: Any) -> "ScriptedHandle":
        return self

    @property
    def generate(self) -> "ScriptedHandle":
        return self

    def remote(self, _request: GenerateRequest) -> ScriptedResponse:
        return self.response


async def stream(handle: ScriptedHandle) -> list[GenerateEvent]:
    return [event async for event in HandleGenerator(handle).generate(REQUEST)]  # type: ignore[arg-type]


async def test_a_whole_stream_passes_and_is_not_cancelled() -> None:
    """What ended by itself needs no cancel."""
    handle = ScriptedHandle([GenerateEvent(), END])
    assert await stream(handle) == [GenerateEvent(), END]
    assert not handle.response.is_cancelled


@pytest.mark.parametrize(
    "error",
    [
        OverloadedError("full", retry_after_s=7.0),
        ContextLengthError(limit=10, num_prompt_tokens=9, max_tokens=5),
    ],
)
async def test_the_engines_errors_arrive_as_themselves(error: ReameError) -> None:
    """A refusal keeps its class, and so its status and Retry-After."""
    with pytest.raises(type(error)) as caught:
        await stream(ScriptedHandle([error]))
    assert caught.value is error


@pytest.mark.parametrize(
    ("fault", "meaning"),
    [(ActorDiedError(), EngineDiedError), (BackPressureError(1, 1), OverloadedError)],
)
async def test_rays_errors_are_translated(fault: Exception, meaning: type[ReameError]) -> None:
    """No exception of Ray's reaches the API."""
    with pytest.raises(meaning):
        await stream(ScriptedHandle([GenerateEvent(), fault]))


async def test_closing_early_cancels_the_request_on_its_replica() -> None:
    """A client that leaves takes its work along."""
    handle = ScriptedHandle([GenerateEvent(), GenerateEvent("a"), END])
    events = HandleGenerator(handle).generate(REQUEST)  # type: ignore[arg-type]
    await anext(events)
    await events.aclose()
    assert handle.response.is_cancelled


async def test_info_of_a_dead_replica_is_unavailable() -> None:
    """The API answers 503 while no replica runs."""

    class DeadHandle(ScriptedHandle):
        @property
        def info(self) -> "DeadHandle":
            return self

        def remote(self, *_: Any) -> Any:
            async def fail() -> None:
                raise ActorDiedError

            return fail()

    with pytest.raises(EngineUnavailableError):
        await HandleGenerator(DeadHandle([])).info()  # type: ignore[arg-type]
