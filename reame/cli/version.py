"""``reame version``: what runs here, for bug reports."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Annotated

import typer

from reame import __version__


def version(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the versions of reame and of what it stands on."""
    found = collect_versions()
    if as_json:
        typer.echo(json.dumps(found))
        return
    for name, value in found.items():
        typer.echo(f"{name:<18}{value if value is not None else 'not installed'}")


def collect_versions() -> dict[str, str | None]:
    """Versions by name; ``None`` where something is not installed."""
    return {
        "reame": __version__,
        "llama-cpp-python": installed_version("llama-cpp-python"),
        "ggml": _ggml_version(),
        "ray": installed_version("ray"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def installed_version(package: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return installed(package)
    except PackageNotFoundError:
        return None


def _ggml_version() -> str | None:
    """What the shared library calls itself; llama.cpp's own build number is not in it."""
    try:
        import ctypes

        from llama_cpp import llama_cpp as lib
    except (ImportError, OSError, RuntimeError):
        return None
    parts = []
    for name in ("ggml_version", "ggml_commit"):
        function = getattr(lib._lib, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            parts.append(function().decode())
    return " ".join(parts) or None
