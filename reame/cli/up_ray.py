"""Runs ``serve run`` as a child: tells when it serves, and leaves nothing behind when it ends.

The child gets a session of its own, so a Ctrl-C in the terminal reaches only this process, which
then asks the child to shut Serve down. What the child started is known by descent and by a mark in
its environment (some of Ray's processes overwrite theirs); what is left of it is ended.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

MARK = "REAME_UP_SESSION"
_POLL_S = 0.5
_DRAIN_TIMEOUT_S = 60.0  # Ray's own shutdown waits 30 s for running requests
_FAILURE_CHECK_EVERY_S = 20.0
_LAST_WORDS_S = 5.0

_STATUS_PROBE = """\
import ray
from ray import serve
last_line = lambda text: (text.strip().splitlines() or ["no reason given"])[-1]
ray.init(address="auto", namespace="serve", log_to_driver=False, logging_level="ERROR")
for name, app in serve.status().applications.items():
    if app.status in ("DEPLOY_FAILED", "UNHEALTHY"):
        print(f"Ray Serve cannot start {name}: {last_line(app.message)}")
        for deployment, state in app.deployments.items():
            if state.message:
                print(f"  {deployment}: {last_line(state.message)}")
"""


def serve(content: Mapping[str, Any], environ: Mapping[str, str], url: str, greeting: str) -> int:
    """Run Serve with this configuration until a signal or its end; return the exit code."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="reame-up-") as folder:
        path = Path(folder) / "serve_config.json"
        path.write_text(json.dumps(content, indent=2))
        command = [sys.executable, "-m", "ray.serve.scripts", "run", str(path)]
        try:
            return _Supervisor(command, {**environ, MARK: mark}, url, greeting).run()
        finally:
            end_processes(marked(mark))


class _Supervisor:
    """Watches one child. ``_asked`` holds the signals to stop; the second one does not wait.

    The handler only appends: one signal may interrupt another's handler, and anything with a lock
    could wait for the very code that it interrupted.
    """

    def __init__(self, command: list[str], environ: Mapping[str, str], url: str, greeting: str) -> None:
        self._url = url
        self._greeting = greeting
        self._environ = environ
        self._asked: list[int] = []
        # Before the child starts: it would inherit an ignored SIGINT (a shell's `&`) and never hear ours.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        self._child = subprocess.Popen(
            command, env=dict(environ), stdin=subprocess.DEVNULL, start_new_session=True
        )

    def run(self) -> int:
        """0 after a signal, else 1."""
        try:
            failure = self._wait_ready()
            while failure is None and not self._asked and self._child.poll() is None:
                time.sleep(_POLL_S)
        finally:
            self._end_child()
        if failure is None and self._asked:
            return 0
        print(f"error: {failure or 'Ray Serve ended by itself; its lines above say why'}", file=sys.stderr)
        return 1

    def _on_signal(self, number: int, _frame: object) -> None:
        self._asked.append(number)

    def _wait_ready(self) -> str | None:
        """Greet once the server is ready. Returns why it never will be, or ``None``."""
        checked_s = time.monotonic()
        while not self._asked and self._child.poll() is None:
            if is_ready(self._url):
                print(self._greeting, file=sys.stderr, flush=True)
                return None
            if time.monotonic() - checked_s > _FAILURE_CHECK_EVERY_S:
                failure = deployment_failure(self._environ)
                if failure:
                    return failure
                checked_s = time.monotonic()
            time.sleep(_POLL_S)
        return None

    def _end_child(self) -> None:
        """Ask for a graceful end; a second signal, or a child that takes too long, gets none."""
        if self._child.poll() is not None:
            return
        family = psutil.Process(self._child.pid).children(recursive=True)
        self._child.send_signal(signal.SIGINT)
        deadline_s = time.monotonic() + _DRAIN_TIMEOUT_S
        while self._child.poll() is None and len(self._asked) < 2 and time.monotonic() < deadline_s:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_POLL_S)
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        end_processes(family)


def is_ready(url: str) -> bool:
    """Whether ``/ready`` answers 200. Never through a proxy: it is this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, ValueError), opener.open(f"{url}/ready", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def deployment_failure(environ: Mapping[str, str]) -> str | None:
    """Why Serve gave up on an application, or ``None``; ``serve run`` itself would wait for ever."""
    done = subprocess.run(
        [sys.executable, "-c", _STATUS_PROBE], env=dict(environ), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None if done.returncode == 0 else None


def marked(mark: str) -> list[psutil.Process]:
    """Every process that carries ``mark`` in its environment, but this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
    return found


def end_processes(processes: Sequence[psutil.Process]) -> None:
    """Give the processes a moment to end by themselves, then kill those that did not."""
    deadline_s = time.monotonic() + _LAST_WORDS_S
    while time.monotonic() < deadline_s and any(is_alive(process) for process in processes):
        time.sleep(_POLL_S / 10)
    for process in processes:
        with suppress(psutil.Error):
            if is_alive(process):
                process.kill()


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; one that only waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
