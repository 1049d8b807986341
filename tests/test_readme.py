"""Every command of the README is run as it stands there."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from reame.bench.servers import Server, end_processes
from reame.config import load_settings

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
CURL = next(block for block in BLOCKS if block.startswith("curl"))

SERVERS = {  # commands that serve until they are told to stop, and where
    "make serve\n": 8000,
    ".venv/bin/serve run serve_config.yaml\n": 8000,
    ".venv/bin/reame up --no-ray --port 8001\n": 8001,
}
OUTPUTS = {  # commands that end by themselves, and a word that they print
    ".venv/bin/reame doctor\n": "ok",
    ".venv/bin/reame bench engine --streams 1 --tokens 16 --rounds 1 --targets inprocess\n": "of bare",
    next(b for b in BLOCKS if "reame models" in b): "sky",
}
ELSEWHERE = {"make test\n"}  # this very run

pytestmark = [pytest.mark.model, pytest.mark.timeout(400)]


def test_every_command_is_covered() -> None:
    """A command that is added to the README must be added here."""
    assert set(BLOCKS) == {*SERVERS, *OUTPUTS, *ELSEWHERE, CURL}


def test_the_configuration_it_shows_is_valid(tmp_path: Path) -> None:
    """What a reader copies into reame.conf loads, and means what the README says."""
    (block,) = re.findall(r"```ini\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    conf = tmp_path / "reame.conf"
    conf.write_text(block)
    assert load_settings(conf, {}).model.path == "qwen2.5-1.5b"


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """The README speaks of `.venv`; make it as the README does (`make test` has done so already)."""
    subprocess.run(["make", ".venv/.installed"], cwd=ROOT, check=True, capture_output=True)


@contextmanager
def serving(command: str, port: int, log_path: Path) -> Iterator[None]:
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, (
            f"port {port} is taken; the README's commands need it"
        )
    with log_path.open("wb") as log:
        environ = {**os.environ, "REAME_BENCH_SESSION": log_path.name}
        process = subprocess.Popen(
            command, shell=True, cwd=ROOT, stdout=log, stderr=log, start_new_session=True, env=environ
        )
    server = Server("readme", "127.0.0.1", port, process.pid, log_path.name)
    try:
        deadline_s = time.monotonic() + 180
        while not is_ready(port):
            assert process.poll() is None, log_path.read_text()[-3000:]
            assert time.monotonic() < deadline_s, log_path.read_text()[-3000:]
            time.sleep(0.5)
        yield
        os.killpg(process.pid, signal.SIGINT)
        process.wait(90)
    finally:
        end_processes(server)
        process.wait()


def is_ready(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


@pytest.mark.ray
@pytest.mark.parametrize("command", SERVERS, ids=lambda c: c.strip())
def test_each_way_to_serve_answers_the_readmes_curl(command: str, tmp_path: Path) -> None:
    """The server comes up by this one command, and the documented request gets a sensible answer."""
    port = SERVERS[command]
    with serving(command, port, tmp_path / f"readme-{port}.log"):
        curl = CURL.replace("curl ", "curl -sS --max-time 120 ").replace(":8000", f":{port}")
        done = subprocess.run(curl, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "Paris" in json.loads(done.stdout)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("command", OUTPUTS, ids=lambda c: c.splitlines()[0])
def test_each_other_command_does_what_it_says(command: str, tmp_path: Path) -> None:
    """It ends by itself, successfully, and prints what one expects."""
    environ = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        f"set -e\n{command}", shell=True, cwd=ROOT, capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert OUTPUTS[command] in done.stdout
