"""Which ``reame.conf`` a command reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from reame.config import Settings, load_settings
from reame.errors import ConfigError

CONF_NAME = "reame.conf"
_PROJECT_ROOT = Path(__file__).resolve().parent.parent.parent

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Configuration file (default: reame.conf here)."),
]


def find_config(option: Path | None, environ: Mapping[str, str], *, cwd: Path, project: Path) -> Path | None:
    """The file to read, absolute: ``--config``, ``REAME_CONFIG``, one here, the project's; else none.

    Raises:
        ConfigError: a file that was named does not exist.
    """
    named = option or (Path(environ["REAME_CONFIG"]) if environ.get("REAME_CONFIG") else None)
    if named is not None:
        path = (cwd / named.expanduser()).resolve()
        if not path.is_file():
            raise ConfigError(
                f"no configuration file {path}; name one with --config, or leave the option out"
            )
        return path
    return next((folder / CONF_NAME for folder in (cwd, project) if (folder / CONF_NAME).is_file()), None)


def load_config(option: Path | None) -> tuple[Path | None, Settings]:
    """This process's configuration file, if there is one, and its settings."""
    path = find_config(option, os.environ, cwd=Path.cwd(), project=_PROJECT_ROOT)
    return path, load_settings(path, os.environ)
