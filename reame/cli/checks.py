"""What ``reame doctor`` judges. Pure: facts come in, verdicts go out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from reame.engine.memory import MemoryNeed, MemorySupply, format_bytes

MIN_PYTHON = (3, 11)
MIN_SPARE_BYTES = 5 * 2**28  # Ray and the ingress take about 1.1 GiB on one node


class Status(StrEnum):
    """A verdict."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict; ``mend`` says what to do about one that is not ok."""

    name: str
    status: Status
    message: str
    mend: str | None = None


def ok(name: str, message: str) -> Check:
    """A verdict without a worry."""
    return Check(name, Status.OK, message)


def fail(name: str, message: str, mend: str) -> Check:
    """Something that keeps reame from serving."""
    return Check(name, Status.FAIL, message, mend)


def warn(name: str, message: str, mend: str) -> Check:
    """Something that costs speed or safety."""
    return Check(name, Status.WARN, message, mend)


def check_python(version: tuple[int, ...]) -> Check:
    """Python is new enough."""
    text = ".".join(str(part) for part in version[:3])
    if version[:2] < MIN_PYTHON:
        return fail("python", f"Python {text} is too old", "install Python 3.11 or newer")
    return ok("python", f"Python {text}")


def check_packages(pins: Mapping[str, str] | None, installed: Mapping[str, str | None]) -> Check:
    """The installed packages are the tested ones. ``pins`` of ``None``: reame itself is not installed."""
    if pins is None:
        return warn("packages", "reame runs from its folder, not installed", "install it: pip install -e .")
    missing = [name for name in pins if installed.get(name) is None]
    if missing:
        return fail("packages", f"not installed: {', '.join(missing)}", "install again: pip install -e .")
    other = [
        f"{name} {installed[name]} (tested: {pin})" for name, pin in pins.items() if installed[name] != pin
    ]
    if other:
        return warn(
            "packages", f"other versions than tested: {', '.join(other)}", "install again: pip install -e ."
        )
    return ok("packages", f"{len(pins)} packages as pinned")


def check_memory(need: MemoryNeed, supply: MemorySupply, *, replicas: int, context_length: int) -> Check:
    """All engine replicas fit into memory."""
    times = f"{replicas} x " if replicas > 1 else ""
    text = f"{times}{need} at a context of {context_length}; there is {supply}"
    spare = supply.available_bytes - replicas * need.total_bytes
    if spare < 0:
        return fail(
            "memory", f"needs {text}", "smaller context_length, kv_cache_type = q8_0, or a smaller model"
        )
    if spare < MIN_SPARE_BYTES:
        return warn(
            "memory", f"tight: needs {text}", "leave 1.25 GiB for Ray and the ingress, or serve with --no-ray"
        )
    return ok("memory", f"needs {text}")


def check_disk(name: str, folder: str, free_bytes: int, wanted_bytes: int) -> Check:
    """A folder's file system has room."""
    text = f"{format_bytes(free_bytes)} free for {folder}"
    if free_bytes < wanted_bytes:
        return warn(
            name, f"{text}, up to {format_bytes(wanted_bytes)} wanted", "free some space or move the folder"
        )
    return ok(name, text)


def check_writable(folder: str, problem: str | None) -> Check:
    """The cache folder takes files."""
    if problem is not None:
        return fail(
            "cache folder", f"cannot write to {folder}: {problem}", "mend its owner, or set [cache] directory"
        )
    return ok("cache folder", f"{folder} is writable")


def check_port(host: str, port: int, holder: str | None) -> Check:
    """Nobody listens where reame will. A server of ours that already runs shows here too."""
    if holder is not None:
        return warn("port", f"{host}:{port} is {holder}", "end it, or set [server] port")
    return ok("port", f"{host}:{port} is free")


def check_exposure(host: str, has_keys: bool) -> Check:
    """A server that others can reach asks for a key."""
    if not _is_loopback(host) and not has_keys:
        return warn("access", f"{host} is open to the network without an API key", "set [server] api_key")
    return ok("access", "API key set" if has_keys else f"only this machine reaches {host}")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_threads(configured: int | None, usable: int) -> Check:
    """Threads and physical cores agree."""
    if configured is None:
        return ok("threads", f"{usable}, one for each physical core that may be used")
    if configured > usable:
        return warn(
            "threads",
            f"[model] threads = {configured}, but only {usable} physical cores may be used",
            f"set threads = {usable}, or leave it out: more threads than cores wait for each other",
        )
    return ok("threads", f"{configured} of {usable} usable physical cores")


def check_haproxy(asked: bool, has_keys: bool) -> Check:
    """Ray's HAProxy, which listens on every interface, runs only with keys."""
    if asked and not has_keys:
        return fail(
            "haproxy",
            "RAY_SERVE_ENABLE_HA_PROXY is set without an API key; it listens on every interface",
            "set [server] api_key, or unset the variable",
        )
    return ok("haproxy", "on, with API keys" if asked else "off")


def check_ray(installed: str | None, problem: str | None) -> Check:
    """Ray can be imported."""
    if installed is None or problem is not None:
        reason = problem or "not installed"
        return fail(
            "ray", f"Ray: {reason}", "install again: pip install -e . (or serve with `reame up --no-ray`)"
        )
    return ok("ray", f"Ray {installed}")
