"""Whether an address is free, and who has it."""

from __future__ import annotations

import errno
import socket

import psutil

from reame.errors import ReameError


def port_holder(host: str, port: int) -> str | None:
    """Why nobody can listen on ``host:port`` now, or ``None`` when one can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return _listener(port) if error.errno == errno.EADDRINUSE else (error.strerror or str(error))
        return None


def require_free_port(host: str, port: int) -> None:
    """Refuse to start where another server listens.

    Raises:
        ReameError: naming the process, where the system tells.
    """
    holder = port_holder(host, port)
    if holder is not None:
        raise ReameError(
            f"cannot listen on {host}:{port}: {holder}; end it, or choose another port with --port or "
            "[server] port"
        )


def _listener(port: int) -> str:
    try:
        listening = [c for c in psutil.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        pid = next((c.pid for c in listening if c.laddr and c.laddr.port == port and c.pid), None)
        if pid is not None:
            return f"taken by {psutil.Process(pid).name()} (pid {pid})"
    except psutil.Error:
        pass
    return "taken by another process"
