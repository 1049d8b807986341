"""The engine process and its supervisor, with the real model and real signals."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from reame.engine.client import EngineClient
from reame.engine.options import EngineOptions
from reame.engine.process import _epitaph
from reame.errors import (
    ContextLengthError,
    EngineDiedError,
    EngineError,
    EngineUnavailableError,
    OverloadedError,
)
from reame.prompt import Tokenizer
from reame.types import GenerateEvent, GenerateRequest, SamplingParams

pytestmark = pytest.mark.model

GREEDY = SamplingParams(temperature=0.0)
PROMPT = tuple(range(1000, 1040))


def request(
    name: str = "r", prompt: tuple[int, ...] = PROMPT, max_tokens: int = 8, **fields: object
) -> GenerateRequest:
    return GenerateRequest(name, prompt, max_tokens, GREEDY, ignore_eos=True, **fields)  # type: ignore[arg-type]


async def collect(client: EngineClient, wanted: GenerateRequest) -> list[GenerateEvent]:
    return [event async for event in client.generate(wanted)]


async def until(condition: Callable[[], Awaitable[bool]], timeout_s: float = 20.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not await condition():  # noqa: ASYNC110 - the engine's load has no event to wait for
            await asyncio.sleep(0.01)


@pytest_asyncio.fixture
async def client(options: EngineOptions) -> AsyncIterator[EngineClient]:
    engine = EngineClient(replace(options, num_slots=2, max_requests=4))
    await engine.start()
    yield engine
    await engine.close()


async def is_idle(client: EngineClient) -> bool:
    load = await client.load()
    return (load.num_running, load.num_waiting) == (0, 0)


async def is_busy(client: EngineClient) -> bool:
    return (await client.load()).num_running > 0


async def test_a_stream_begins_with_acceptance_and_ends_with_finish(client: EngineClient) -> None:
    """The first event is empty, the last one says why it ended, and the ids are all there."""
    events = await collect(client, request(max_tokens=12, stream_interval_s=0.0))
    assert events[0] == GenerateEvent()
    assert [e.finish is not None for e in events] == [False] * (len(events) - 1) + [True]
    assert sum(len(e.ids) for e in events) == 12


async def test_answers_are_right_through_the_process(client: EngineClient, tokenizer: Tokenizer) -> None:
    """What crosses the socket is what the model said, emoji included."""
    prompt = tokenizer.encode(
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
        add_bos=False,
        parse_special=True,
    )
    answer = await collect(client, GenerateRequest("r", tuple(prompt), 24, GREEDY))
    assert "Paris" in "".join(e.text for e in answer)


async def test_more_requests_than_slots_wait_and_all_are_served(client: EngineClient) -> None:
    """The queue serves everyone that it accepted."""
    answers = await asyncio.gather(*(collect(client, request(str(i))) for i in range(4)))
    assert [a[-1].finish.num_generated_tokens for a in answers if a[-1].finish] == [8] * 4


async def test_beyond_the_limit_requests_are_refused_with_a_time_to_retry(client: EngineClient) -> None:
    """The fifth of four is refused at once, and the others are served."""
    tasks = [asyncio.create_task(collect(client, request(str(i), max_tokens=60))) for i in range(4)]
    await until(lambda: is_busy(client))
    with pytest.raises(OverloadedError) as refused:
        await collect(client, request("late"))
    assert 1 <= refused.value.retry_after_s <= 60
    await asyncio.gather(*tasks)
    assert await collect(client, request("later"))


async def test_a_request_that_can_never_fit_is_refused_before_its_first_event(client: EngineClient) -> None:
    """Prompt and budget beyond the context are an error of the request."""
    with pytest.raises(ContextLengthError, match="maximum context length is 2048 tokens"):
        await collect(client, request(max_tokens=2048))


@pytest.mark.parametrize(("prompt_tokens", "max_tokens"), [(1900, 8), (40, 1500)], ids=["prefill", "decode"])
async def test_leaving_frees_the_slot(client: EngineClient, prompt_tokens: int, max_tokens: int) -> None:
    """Closing a stream during prefill or decode empties the engine, and the next one is served."""
    stream = (
        client.generate(request("gone", PROMPT * 48, max_tokens, stream_interval_s=0.0))
        if prompt_tokens > 40
        else (client.generate(request("gone", PROMPT, max_tokens, stream_interval_s=0.0)))
    )
    await anext(stream)
    waiting = asyncio.create_task(anext(stream))
    await until(lambda: is_busy_soon(client, waiting))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await stream.aclose()
    await until(lambda: is_idle(client))
    assert await collect(client, request("next"))


async def is_busy_soon(client: EngineClient, waiting: "asyncio.Task[GenerateEvent]") -> bool:
    await asyncio.sleep(0.1)
    return not waiting.done() or await is_busy(client)


async def test_a_killed_engine_ends_its_streams_with_an_error_and_serves_the_next(
    client: EngineClient,
) -> None:
    """kill -9 during a stream: that stream ends with a clear error, another engine takes over."""
    first_pid = (await client.info()).pid
    stream = client.generate(request("victim", max_tokens=1500, stream_interval_s=0.0))
    await anext(stream)
    await anext(stream)
    os.kill(first_pid, signal.SIGKILL)
    with pytest.raises(EngineDiedError, match="SIGKILL"):
        async for _ in stream:
            pass
    assert await collect(client, request("next"))
    assert (await client.info()).pid != first_pid
    assert (await client.load()).num_restarts == 1


async def test_killed_again_and_again_it_comes_back(client: EngineClient) -> None:
    """Every death is followed by a served request."""
    for _ in range(5):
        os.kill((await client.info()).pid, signal.SIGKILL)
        await until(lambda: is_restarting_or_new(client))
        assert await collect(client, request("next"))


async def is_restarting_or_new(client: EngineClient) -> bool:
    return (await client.load()).state == "restarting" or not psutil.pid_exists((await client.info()).pid)


async def test_a_stopped_engine_is_found_and_replaced(
    client: EngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that no longer answers is killed by the health check."""
    monkeypatch.setattr("reame.engine.client.PING_TIMEOUT_S", 0.5)
    pid = (await client.info()).pid
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: is_stopped(pid))
    await client.check()
    assert await collect(client, request("next"))
    assert (await client.info()).pid != pid


async def is_stopped(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


async def test_an_engine_that_hangs_is_replaced_unasked(
    options: EngineOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client watches its engine by itself, also where no Ray asks for its health."""
    monkeypatch.setattr("reame.engine.client.PING_TIMEOUT_S", 0.5)
    monkeypatch.setattr("reame.engine.client.HEARTBEAT_S", 0.2)
    engine = EngineClient(options)
    pid = (await engine.start()).pid
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: has_restarted(engine))
    assert await collect(engine, request("next"))
    await engine.close()


async def has_restarted(client: EngineClient) -> bool:
    return (await client.load()).num_restarts > 0


async def test_health_checks_are_answered_during_a_long_prefill(client: EngineClient) -> None:
    """The engine's reader answers beside the running step."""
    task = asyncio.create_task(collect(client, request("long", PROMPT * 48, 1)))
    await until(lambda: is_busy(client))
    assert client._process is not None
    assert await client._process.ping() >= 0
    await client.check()
    assert (await client.load()).state == "ready"
    await task


async def test_draining_refuses_new_requests_and_finishes_the_running(client: EngineClient) -> None:
    """A replica that shuts down loses no accepted request."""
    task = asyncio.create_task(collect(client, request("running", max_tokens=30)))
    await until(lambda: is_busy(client))
    drained = asyncio.create_task(client.drain(30))
    await asyncio.sleep(0)
    with pytest.raises(EngineUnavailableError, match="shutting down"):
        await collect(client, request("late"))
    assert await drained == 0
    assert (await task)[-1].finish is not None


async def test_a_stream_that_is_open_at_close_hears_of_the_shutdown(options: EngineOptions) -> None:
    """Ending the engine on purpose is not told as a crash."""
    engine = EngineClient(options)
    await engine.start()
    task = asyncio.create_task(collect(engine, request("running", max_tokens=1500)))
    await until(lambda: is_busy(engine))
    await engine.close()
    with pytest.raises(EngineDiedError, match="shut down"):
        await task


async def test_closing_leaves_no_process_behind(options: EngineOptions) -> None:
    """After close the engine's process is gone and reaped."""
    engine = EngineClient(options)
    pid = (await engine.start()).pid
    await engine.close()
    assert not psutil.pid_exists(pid)


async def test_an_engine_ends_when_its_replica_is_gone(options: EngineOptions) -> None:
    """No orphan decodes on: the socket's end is the process's end."""
    engine = EngineClient(options)
    pid = (await engine.start()).pid
    process = psutil.Process(pid)
    task = asyncio.create_task(collect(engine, request("running", max_tokens=1500)))
    await until(lambda: is_busy(engine))
    assert engine._process is not None
    engine._process._writer.transport.abort()
    await asyncio.to_thread(process.wait, 10)
    with pytest.raises(EngineDiedError):
        await task
    await engine.close()


async def test_a_model_that_cannot_be_loaded_is_a_clear_error(options: EngineOptions, tmp_path: Path) -> None:
    """A damaged file is named; no process is left."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(EngineError, match="broken"):
        await EngineClient(replace(options, model_path=broken)).start()


@pytest.mark.parametrize(
    ("code", "word"), [(-4, "make wheel"), (-9, "memory"), (-6, "assertion"), (3, "exit code 3")]
)
def test_the_epitaph_says_what_to_do(code: int, word: str) -> None:
    """Each way to die comes with its likely cause."""
    assert word in _epitaph(code)
