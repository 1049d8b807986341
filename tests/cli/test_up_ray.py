"""The supervisor of ``serve run``: it greets, passes signals on, and leaves nothing behind."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from reame.cli.up_ray import is_alive

SUPERVISOR = """\
import os, sys
from reame.cli import up_ray
up_ray._LAST_WORDS_S = 0.2
port, child = sys.argv[1:]
mark = "test-" + port
command = [sys.executable, "-c", child, port]
environ = {**os.environ, up_ray.MARK: mark}
code = up_ray._Supervisor(command, environ, "http://127.0.0.1:" + port, "GREETING").run()
up_ray.end_processes(up_ray.marked(mark))
sys.exit(code)
"""

SERVER = """\
import http.server, subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args):
        pass
print("HELPER", helper.pid, flush=True)
try:
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
except KeyboardInterrupt:
    print("SHUTDOWN", flush=True)
"""

DEAF = SERVER.replace("import http.server", "import signal, http.server").replace(
    "class Ready", "signal.signal(signal.SIGINT, signal.SIG_IGN)\nclass Ready"
)


def _start(child: str) -> "subprocess.Popen[str]":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(port), child],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).resolve().parent.parent.parent,
        # A shell that starts a command with `&` ignores SIGINT for it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


def _read_until(process: "subprocess.Popen[str]", word: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f"no {word} in {lines}")


def _helper(lines: list[str]) -> int:
    return next(int(line.split()[1]) for line in lines if line.startswith("HELPER"))


def _runs(pid: int) -> bool:
    """A process that ended but has nobody to reap it does not count."""
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_shuts_down_gracefully_and_leaves_nothing(number: signal.Signals) -> None:
    """The child hears one SIGINT, ends by itself, and its own children are ended after it."""
    process = _start(SERVER)
    lines = _read_until(process, "GREETING")
    process.send_signal(number)
    rest, _ = process.communicate()
    assert process.returncode == 0, rest
    assert "SHUTDOWN" in rest
    assert not _runs(_helper(lines))


def test_a_second_signal_does_not_wait() -> None:
    """A child that ignores the first is killed at the second."""
    process = _start(DEAF)
    lines = _read_until(process, "GREETING")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert process.returncode == 0, rest
    assert "SHUTDOWN" not in rest
    assert not _runs(_helper(lines))


def test_a_child_that_ends_by_itself_is_a_failure() -> None:
    """The caller sees 1 and a line that says so."""
    process = _start("raise SystemExit(0)")
    out, _ = process.communicate()
    assert process.returncode == 1
    assert "ended by itself" in out
