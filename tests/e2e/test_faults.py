"""What goes wrong on a real server touches only whom it must."""

import asyncio
import json
import os
import re
import signal
import time
from itertools import pairwise

import httpx
import psutil
import pytest

from reame.bench.servers import Server

pytestmark = pytest.mark.model

HEADERS = {"Authorization": "Bearer sk-test"}
LONG_PROMPT = [1000 + i % 40000 for i in range(6000)]


def url(server: Server, path: str) -> str:
    return f"http://{server.host}:{server.port}{path}"


def metric(server: Server, name: str) -> float:
    text = httpx.get(url(server, "/metrics"), headers=HEADERS, timeout=10).text
    return sum(
        float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}(\{{| )", line)
    )


def wait_until_idle(server: Server, timeout_s: float = 30.0) -> None:
    """The slots must be free soon after the clients left."""
    deadline_s = time.monotonic() + timeout_s
    while metric(server, "reame_running") + metric(server, "reame_waiting") > 0:
        assert time.monotonic() < deadline_s, "a slot is still held"
        time.sleep(0.05)


async def leave_early(server: Server, body: dict[str, object], *, after_pieces: int) -> None:
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", url(server, "/v1/completions"), json=body, headers=HEADERS) as answer,
    ):
        assert answer.status_code == 200
        seen = 0
        async for line in answer.aiter_lines():
            seen += line.startswith("data: {")
            if seen >= after_pieces or not after_pieces:
                return


@pytest.mark.parametrize(
    ("body", "after_pieces"),
    [
        ({"prompt": LONG_PROMPT, "max_tokens": 100, "stream": True}, 0),
        ({"prompt": [1000] * 20, "max_tokens": 2000, "stream": True, "ignore_eos": True}, 3),
    ],
    ids=["prefill", "decode"],
)
def test_a_client_that_leaves_a_stream_frees_its_slot(
    server: Server, body: dict[str, object], after_pieces: int
) -> None:
    """During prefill and during decode."""
    asyncio.run(leave_early(server, body, after_pieces=after_pieces))
    wait_until_idle(server)


def test_a_client_that_leaves_without_a_stream_frees_its_slot(server: Server) -> None:
    """A non-streamed request whose client timed out computes no further."""
    body = {"prompt": [1000] * 20, "max_tokens": 4000, "ignore_eos": True}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url(server, "/v1/completions"), json=body, headers=HEADERS, timeout=1.5)
    wait_until_idle(server)


def test_a_killed_engine_ends_the_stream_with_an_error_event(server: Server) -> None:
    """kill -9: an error event then [DONE], the next request is served, the replica is the same."""
    (pid,) = server.engine_pids()
    replica_pid = psutil.Process(pid).ppid()
    body = {"prompt": [1000] * 20, "max_tokens": 4000, "stream": True, "ignore_eos": True}
    lines: list[str] = []
    with httpx.stream(
        "POST", url(server, "/v1/completions"), json=body, headers=HEADERS, timeout=60
    ) as answer:
        for line in answer.iter_lines():
            if line.startswith("data:"):
                lines.append(line.removeprefix("data:").strip())
            if len(lines) == 3:
                os.kill(pid, signal.SIGKILL)
    assert lines[-1] == "[DONE]"
    error = json.loads(lines[-2])["error"]
    assert "SIGKILL" in error["message"]
    following = httpx.post(
        url(server, "/v1/completions"),
        json={"prompt": "One, two,", "max_tokens": 4},
        headers=HEADERS,
        timeout=60,
    )
    assert following.status_code == 200
    (new_pid,) = server.engine_pids()
    assert new_pid != pid
    assert psutil.Process(new_pid).ppid() == replica_pid


def test_streams_keep_coming_beside_a_long_prompt(server: Server) -> None:
    """A 4,000-token prompt that arrives meanwhile leaves pieces flowing between its own chunks."""

    async def go() -> tuple[list[float], float, float]:
        times: list[float] = []
        async with httpx.AsyncClient(timeout=120) as client:

            async def stream() -> None:
                body = {"prompt": [1000] * 20, "max_tokens": 150, "stream": True, "ignore_eos": True}
                async with client.stream(
                    "POST", url(server, "/v1/completions"), json=body, headers=HEADERS
                ) as answer:
                    async for line in answer.aiter_lines():
                        if line.startswith("data: {"):
                            times.append(time.perf_counter())  # noqa: PERF401 - others read it meanwhile

            running = asyncio.create_task(stream())
            while len(times) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            began_s = time.perf_counter()
            body = {"prompt": LONG_PROMPT[:4000], "max_tokens": 1}
            answer = await client.post(url(server, "/v1/completions"), json=body, headers=HEADERS)
            assert answer.status_code == 200
            ended_s = time.perf_counter()
            await running
        return times, began_s, ended_s

    times, began_s, ended_s = asyncio.run(go())
    during = [t for t in times if began_s < t < ended_s]
    gaps = [b - a for a, b in pairwise(during)]
    print(f"4000 tokens in {ended_s - began_s:.2f} s; {len(during)} pieces; largest gap {max(gaps):.3f} s")
    # at most 8 blocks of 64 tokens a step: were the stream to stall for the whole prompt there would be none
    assert len(during) >= 4000 / 512


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (b'{"messages": [{"role": "user", "content": null}], "max_tokens": 2}', 200),
        (b'{"messages": []}', 400),
        (b'{"messages": [{"role": "wizard", "content": "x"}]}', 400),
        (b'{"messages": "hello"}', 400),
        (b'{"messages": [{"role": "user", "content": 5}]}', 400),
        (b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}', 400),
        (b"\x00\x01\x02", 400),
        (b"[]", 400),
        (b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}', 400),
        (b'{"messages": [{"role": "user", "content": "x"}], "temperature": 99}', 400),
        (b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": null, "stop": "\\n"}', 200),
    ],
)
def test_bad_input_is_a_clear_400(server: Server, payload: bytes, status: int) -> None:
    """Each malformed request gets an error object that names what is wrong; none is a 5xx."""
    answer = httpx.post(url(server, "/v1/chat/completions"), content=payload, headers=HEADERS, timeout=60)
    assert answer.status_code == status, answer.text
    if status == 400:
        assert answer.json()["error"]["message"]


def test_a_prompt_one_token_too_long_is_refused_and_one_that_just_fits_is_served(server: Server) -> None:
    """The context is used to its last token, and not one further."""
    limit = httpx.get(url(server, "/v1/models"), headers=HEADERS).json()["data"][0]["max_model_len"]
    body = {"prompt": [1000] * (limit - 1), "max_tokens": 2}
    refused = httpx.post(url(server, "/v1/completions"), json=body, headers=HEADERS, timeout=60)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "context_length_exceeded"


def test_emoji_arrive_whole(server: Server) -> None:
    """A character that spans tokens comes in one piece, streamed or not."""
    body = {
        "prompt": "🦙🦙🦙🦙🦙🦙🦙🦙",
        "max_tokens": 24,
        "temperature": 0,
        "stream": True,
        "ignore_eos": True,
    }
    texts: list[str] = []
    with httpx.stream(
        "POST", url(server, "/v1/completions"), json=body, headers=HEADERS, timeout=60
    ) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                texts += [c["text"] for c in json.loads(line[6:])["choices"]]
    whole = httpx.post(
        url(server, "/v1/completions"), json={**body, "stream": False}, headers=HEADERS, timeout=60
    )
    assert "".join(texts) == whole.json()["choices"][0]["text"]
    assert "🦙" in "".join(texts)
    assert not any("\ufffd" in text for text in texts[:-1])
