"""What ``reame doctor`` looks at: the reading half. Every reader answers, none raises."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from reame.cli.cpu import parse_system_info
from reame.cli.version import installed_version

_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*==\s*([^\s;]+)(.*)")
_PROBE_TIMEOUT_S = 60

_LLAMA_PROBE = """\
from llama_cpp import llama_cpp as lib
lib.llama_backend_init()
print(lib.llama_print_system_info().decode())
"""


def parse_pins(requirements: Iterable[str]) -> dict[str, str]:
    """Exact pins by package name; those of extras are left out."""
    matches = (_PIN.match(requirement) for requirement in requirements)
    return {m[1]: m[2] for m in matches if m is not None and "extra" not in m[3]}


def read_pins() -> dict[str, str] | None:
    """reame's own pins; ``None`` when it is not installed as a package."""
    try:
        return parse_pins(requires("reame") or ())
    except PackageNotFoundError:
        return None


def installed_versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Installed version of each package."""
    return {package: installed_version(package) for package in packages}


def free_bytes(folder: Path) -> int:
    """Free space for this user where ``folder`` is, or would be made."""
    return shutil.disk_usage(_existing(folder)).free


def write_problem(folder: Path) -> str | None:
    """Why no file can be made in ``folder``, or in the nearest folder above that exists."""
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())


def probe_llama() -> tuple[frozenset[str] | None, str | None]:
    """The features llama.cpp was built with, or the reason why it does not load.

    In a process of its own: code for another CPU ends its process.
    """
    answer, problem = _probe(_LLAMA_PROBE)
    return (parse_system_info(answer), None) if problem is None else (None, problem)


def probe_ray() -> str | None:
    """Why Ray cannot be imported, or ``None``."""
    return _probe("import ray.serve")[1]


def _probe(code: str) -> tuple[str, str | None]:
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_PROBE_TIMEOUT_S} s"
    return done.stdout, probe_problem(done.returncode, done.stderr)


def probe_problem(returncode: int, stderr: str) -> str | None:
    """What a probe's end means."""
    if returncode == 0:
        return None
    if returncode < 0:
        return f"ends its process with signal {-returncode}" + (
            " (built for another CPU)" if returncode == -4 else ""
        )
    return (stderr.strip().splitlines() or [f"exit code {returncode}"])[-1]


def read_cpuinfo() -> str:
    """``/proc/cpuinfo``; empty where there is none."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
