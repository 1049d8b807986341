"""Real servers for measuring: started on a free port, their processes' CPU time read, ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_ENGINE_MODULE = "reame.engine.worker"
_START_TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; ``root_pid`` is the process whose tree it is."""

    name: str
    host: str
    port: int
    root_pid: int
    session: str

    def processes(self) -> list[psutil.Process]:
        """Every live process of this server, also those that Ray set adrift."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("REAME_BENCH_SESSION") == self.session:
                    found.append(process)
        return found

    def cpu_outside_engine_s(self) -> float:
        """User and system seconds of all its processes but the engine's."""
        total_s = 0.0
        for process in self.processes():
            with suppress(psutil.Error):
                if _ENGINE_MODULE not in process.cmdline():
                    times = process.cpu_times()
                    total_s += times.user + times.system
        return total_s

    def engine_pids(self) -> list[int]:
        """Process ids of its engines."""
        pids = []
        for process in self.processes():
            with suppress(psutil.Error):
                if _ENGINE_MODULE in process.cmdline():
                    pids.append(process.pid)
        return pids


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


Conf = Mapping[str, Mapping[str, object]]


@contextmanager
def running_server(
    model: Path, *, use_ray: bool, parallel: int, conf: Conf | None = None
) -> Iterator[Server]:
    """``reame up`` with a configuration of its own; everything is ended afterwards.

    ``conf`` holds further sections and keys of ``reame.conf``.

    Raises:
        RuntimeError: it did not become ready; carries the end of its log.
    """
    base: Conf = {
        "model": {"path": model.resolve()},
        "server": {"parallel": parallel, "max_concurrent_requests": 4 * parallel},
    }
    with tempfile.TemporaryDirectory(prefix="reame-bench-") as folder:
        conf_path = Path(folder) / "reame.conf"
        conf_path.write_text(_conf_text(base, conf or {}))
        port, session = free_port(), Path(folder).name
        command = [sys.executable, "-m", "reame.cli", "up", "--config", str(conf_path), "--port", str(port)]
        log_path = Path(folder) / "log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                command if use_ray else [*command, "--no-ray"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "REAME_BENCH_SESSION": session},
                start_new_session=True,
            )
        name = "HTTP through Ray" if use_ray else "HTTP without Ray"
        server = Server(name, "127.0.0.1", port, process.pid, session)
        try:
            _wait_ready(server, process, log_path)
            yield server
        finally:
            _end(server, process)


def _conf_text(*layers: Conf) -> str:
    sections = {name for layer in layers for name in layer}
    merged = {name: {k: v for layer in layers for k, v in layer.get(name, {}).items()} for name in sections}
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
        for name, keys in merged.items()
    )


def _wait_ready(server: Server, process: subprocess.Popen[bytes], log_path: Path) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline_s and process.poll() is None:
        if _answers(f"http://{server.host}:{server.port}/ready"):
            return
        time.sleep(0.3)
    raise RuntimeError(f"the server did not become ready; its log ends:\n{log_path.read_text()[-3000:]}")


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback needs no proxy


def _answers(url: str) -> bool:
    with suppress(OSError), _direct.open(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def end_processes(server: Server) -> None:
    """Kill whatever is left of a server, found by the mark in its environment."""
    for straggler in server.processes():
        with suppress(psutil.Error):
            straggler.kill()


def _end(server: Server, process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
    end_processes(server)
    process.wait()
