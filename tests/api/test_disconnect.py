"""When the client leaves, or the server cancels, the engine's work ends and no task stays."""

import asyncio

import pytest

from reame.errors import OverloadedError

from .driver import Exchange, other_tasks
from .fakes import FakeGenerator, chat_body, make_app, make_client

CHAT = "/v1/chat/completions"


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("script", [(), ("some", "text")], ids=["prefill", "decode"])
@pytest.mark.parametrize("how", ["disconnect", "cancel"])
async def test_leaving_closes_every_sequence(stream: bool, n: int, script: tuple[str, ...], how: str) -> None:
    """uvicorn says ``http.disconnect``, Ray Serve cancels: both close the generators at once."""
    generator = FakeGenerator((*script, asyncio.Event()))
    exchange = Exchange(make_app(generator), CHAT, chat_body(stream=stream, n=n))
    await generator.until_open(n)
    if how == "disconnect":
        exchange.leave()
        await exchange.task
    else:
        exchange.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await exchange.task
    assert generator.num_open == 0
    assert other_tasks() == set()


async def test_leaving_before_the_engine_accepts(stream: bool) -> None:
    """A client that leaves while the engine restarts costs nothing and gets nothing."""
    generator = FakeGenerator()
    waiting = asyncio.Event()

    async def info() -> None:
        waiting.set()
        await asyncio.Event().wait()

    generator.info = info  # type: ignore[assignment]
    exchange = Exchange(make_app(generator), CHAT, chat_body(stream=stream))
    await waiting.wait()
    exchange.leave()
    await exchange.task
    assert (exchange.sent, generator.requests, other_tasks()) == ([], [], set())


async def test_leaving_is_counted(stream: bool) -> None:
    """Cancelled requests have an outcome of their own."""
    generator = FakeGenerator((asyncio.Event(),))
    app = make_app(generator)
    exchange = Exchange(app, CHAT, chat_body(stream=stream))
    await generator.opened.wait()
    exchange.leave()
    await exchange.task
    async with make_client(app) as client:
        page = (await client.get("/metrics")).text
    assert 'reame_requests_total{outcome="cancelled"} 1.0' in page
    assert "reame_streams_cancelled_total 1.0" in page


async def test_a_finished_answer_leaves_no_task(stream: bool) -> None:
    """The watcher of the connection ends with the answer."""
    exchange = Exchange(make_app(), CHAT, chat_body(stream=stream, n=2))
    await exchange.task
    assert exchange.sent[-1].get("more_body", False) is False
    assert other_tasks() == set()


async def test_a_refused_choice_leaves_no_task(stream: bool) -> None:
    """All sequences of a refused request are closed."""
    generator = FakeGenerator(refusal=OverloadedError("full", retry_after_s=1))
    exchange = Exchange(make_app(generator), CHAT, chat_body(stream=stream, n=3))
    await exchange.task
    assert exchange.sent[0]["status"] == 503
    assert (generator.num_open, other_tasks()) == (0, set())


async def test_a_request_that_takes_too_long(stream: bool) -> None:
    """Before anything was sent it is 504, which the SDK is told not to repeat."""
    exchange = Exchange(make_app(timeout_s=0), CHAT, chat_body(stream=stream))
    await exchange.task
    assert '"code":"timeout"' in exchange.text()
    assert exchange.sent[0]["status"] == 504
    assert (b"x-should-retry", b"false") in exchange.sent[0]["headers"]
    assert other_tasks() == set()


async def test_a_stream_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """After that it is an error chunk and [DONE], and the sequence is closed."""
    limits: list[asyncio.Timeout] = []
    real = asyncio.timeout

    def noted(delay_s: float | None) -> asyncio.Timeout:
        limits.append(real(delay_s))
        return limits[-1]

    monkeypatch.setattr(asyncio, "timeout", noted)
    generator = FakeGenerator(("a", asyncio.Event()))
    exchange = Exchange(make_app(generator, timeout_s=3600), CHAT, chat_body(stream=True))
    await exchange.until(lambda: '"content":"a"' in exchange.text())
    limits[0].reschedule(0)
    await exchange.task
    assert exchange.text().endswith("data: [DONE]\n\n")
    assert '"code":"timeout"' in exchange.text()
    assert (generator.num_open, other_tasks()) == (0, set())


async def test_headers_leave_before_the_first_token() -> None:
    """A stream begins as soon as the engine accepts, with the role."""
    go = asyncio.Event()
    exchange = Exchange(make_app(FakeGenerator((go, "Hi"))), CHAT, chat_body(stream=True))
    await exchange.until(lambda: len(exchange.sent) == 2)
    assert exchange.sent[0]["status"] == 200
    assert '"role":"assistant"' in exchange.text()
    assert "Hi" not in exchange.text()
    go.set()
    await exchange.task
    assert exchange.text().endswith("data: [DONE]\n\n")


async def test_pings_while_nothing_else_is_sent() -> None:
    """A long prefill is bridged by comments, which no client reads as data."""
    go = asyncio.Event()
    exchange = Exchange(make_app(FakeGenerator((go, "Hi")), sse_ping_s=0.001), CHAT, chat_body(stream=True))
    await exchange.until(lambda: exchange.text().count(": ping\n\n") == 3)
    go.set()
    await exchange.task
    assert exchange.text().endswith("data: [DONE]\n\n")
    assert other_tasks() == set()


async def test_one_event_is_one_send() -> None:
    """Each message costs in the proxy, so a piece is never cut over two."""
    exchange = Exchange(make_app(), CHAT, chat_body(stream=True))
    await exchange.task
    bodies = [m["body"] for m in exchange.sent[1:]]
    assert [body.count(b"data: ") for body in bodies] == [1, 1, 1, 1, 1, 1]


async def test_a_server_that_raises_on_a_lost_connection(stream: bool) -> None:
    """An OSError out of ``send`` is a client that left, not a fault of ours."""
    generator = FakeGenerator()
    exchange = Exchange(make_app(generator), CHAT, chat_body(stream=stream), is_broken=True)
    await exchange.task
    assert (exchange.sent, generator.num_open, other_tasks()) == ([], 0, set())
