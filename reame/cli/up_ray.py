"""Runs ``serve run`` as a child: tells when it serves, and leaves nothing behind when it ends.

The child gets a session of its own, so a Ctrl-C in the terminal reaches only this process, which
then asks the child to shut Serve down. Everything that the child starts carries a mark in its
environment; whatever still carries it afterwards is ended.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

MARK = "REAME_UP_SESSION"
_POLL_S = 0.5
_DRAIN_TIMEOUT_S = 150.0  # a little more than the deployments' graceful_shutdown_timeout_s
_FAILURE_CHECK_EVERY_S = 20.0

_STATUS_PROBE = """\
import ray
from ray import serve
ray.init(address="auto", namespace="serve", log_to_driver=False, logging_level="ERROR")
for name, app in serve.status().applications.items():
    if app.status in ("DEPLOY_FAILED", "UNHEALTHY"):
        print(name, app.status, app.message)
"""


def serve(content: Mapping[str, Any], environ: Mapping[str, str], url: str, greeting: str) -> int:
    """Run Serve with this configuration until a signal or its end; return the exit code."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="reame-up-") as folder:
        path = Path(folder) / "serve_config.json"
        path.write_text(json.dumps(content, indent=2))
        child = subprocess.Popen(
            [sys.executable, "-m", "ray.serve.scripts", "run", str(path)],
            env={**environ, MARK: mark},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return _Supervisor(child, url, greeting, environ).run()
        finally:
            end_marked(mark)


class _Supervisor:
    """Watches one child. ``_asked`` counts the signals to stop; the second one does not wait."""

    def __init__(
        self, child: subprocess.Popen[bytes], url: str, greeting: str, environ: Mapping[str, str]
    ) -> None:
        self._child = child
        self._url = url
        self._greeting = greeting
        self._environ = environ
        self._asked = 0
        self._wake = threading.Event()

    def run(self) -> int:
        """0 after a signal, else the child's failure."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        try:
            failure = self._wait_ready()
            while failure is None and not self._asked and self._child.poll() is None:
                self._wake.wait(_POLL_S)
        finally:
            self._end_child()
        if failure is not None:
            print(f"error: {failure}", file=sys.stderr)
        elif not self._asked:
            print("error: Ray Serve ended by itself; its lines above say why", file=sys.stderr)
        return 0 if self._asked and failure is None else 1

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._asked += 1
        self._wake.set()

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
            self._wake.wait(_POLL_S)
        return None

    def _end_child(self) -> None:
        """Ask for a graceful end; a second signal, or a child that takes too long, gets none."""
        if self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGINT)
        asked, deadline_s = self._asked, time.monotonic() + _DRAIN_TIMEOUT_S
        while self._child.poll() is None and self._asked <= max(asked, 1) and time.monotonic() < deadline_s:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_POLL_S)
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()


def is_ready(url: str) -> bool:
    """Whether ``/ready`` answers 200."""
    with suppress(OSError, ValueError), urllib.request.urlopen(f"{url}/ready", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def deployment_failure(environ: Mapping[str, str]) -> str | None:
    """Why Serve gave up on an application, or ``None``; ``serve run`` itself would wait for ever."""
    done = subprocess.run(
        [sys.executable, "-c", _STATUS_PROBE], env=dict(environ), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None if done.returncode == 0 else None


def end_marked(mark: str) -> None:
    """Kill every process that carries ``mark`` in its environment."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()
