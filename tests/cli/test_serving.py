"""``reame run`` and ``reame up --no-ray`` with the real model, as a user's shell starts them."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parent.parent.parent
REAME = (sys.executable, "-m", "reame.cli")
ENVIRON = {**os.environ, "PYTHONUNBUFFERED": "1", "REAME_MODEL__THREADS": "1"}  # no barrier to wait in


def _run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*REAME, "run", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=ENVIRON,
        check=False,
    )


def test_one_shot(demo_model: Path) -> None:
    """The answer alone is on stdout; llama.cpp is not heard."""
    done = _run(str(demo_model), "Name a color.", "--temperature", "0", "--max-tokens", "12")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


def test_the_seed_repeats_an_answer_and_stdin_is_a_prompt(demo_model: Path) -> None:
    """A piped question is answered as one on the command line is."""
    options = ("--seed", "7", "--max-tokens", "12", "--system", "Be brief.")
    asked = _run(str(demo_model), "Name a color.", *options)
    piped = _run(str(demo_model), *options, stdin="Name a color.")
    assert asked.returncode == piped.returncode == 0, piped.stderr
    assert asked.stdout == piped.stdout


def test_a_prompt_beyond_the_context_is_an_error(demo_model: Path) -> None:
    """The line names the limit; the exit code is 1."""
    done = _run(str(demo_model), stdin="word " * 9000)
    assert done.returncode == 1
    assert done.stderr.startswith("error: This model's maximum context length is 8192 tokens")


@pytest.fixture
def server(demo_model: Path, tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """``reame up --no-ray`` on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf = tmp_path / "reame.conf"
    conf.write_text(f"[model]\npath = {demo_model}\ncontext_length = 1024\n[server]\nport = {port}\n")
    process = subprocess.Popen(
        [*REAME, "up", "--no-ray", "--config", str(conf)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRON,
    )
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()


def _wait_greeting(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "curl" in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def _get(port: int, path: str) -> object:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_up_without_ray_serves_and_ends_cleanly(
    server: tuple["subprocess.Popen[str]", int], number: signal.Signals
) -> None:
    """It greets with its address, serves, and a signal ends it and its engine with exit code 0."""
    process, port = server
    assert f"http://127.0.0.1:{port}" in _wait_greeting(process)
    models = _get(port, "/v1/models")
    assert isinstance(models, dict)
    assert len(models["data"]) == 1
    engines = psutil.Process(process.pid).children(recursive=True)
    assert engines
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert [engine for engine in engines if engine.is_running()] == []


def test_a_request_in_flight_is_finished_before_the_end(server: tuple["subprocess.Popen[str]", int]) -> None:
    """A signal during an answer lets the answer end."""
    process, port = server
    _wait_greeting(process)
    body = {
        "prompt": "Once upon a time",
        "max_tokens": 32,
        "temperature": 0,
        "stream": True,
        "ignore_eos": True,
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.readline()
        process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
    assert '"finish_reason":"length"' in rest.replace(" ", "")
    assert rest.rstrip().endswith("data: [DONE]")
    process.communicate()
    assert process.returncode == 0


def test_a_taken_port_is_named(server: tuple["subprocess.Popen[str]", int], demo_model: Path) -> None:
    """A second server on the same port ends with 1 and names the first one's process."""
    process, port = server
    _wait_greeting(process)
    done = subprocess.run(
        [*REAME, "up", "--no-ray", "--port", str(port)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    assert f"pid {process.pid}" in done.stderr
