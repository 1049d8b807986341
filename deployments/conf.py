"""Where a deployment finds ``reame.conf``. Every node reads its own copy."""

from __future__ import annotations

import os
from pathlib import Path

from reame.config import Settings, load_settings

PROJECT_ROOT = Path(__file__).resolve().parent.parent


def config_path(config: str | None) -> Path | None:
    """The configuration file to read: ``REAME_CONFIG``, else ``config``, else none (defaults).

    A relative ``config`` is looked for in the working directory, then in the project's folder,
    since Ray starts workers in a directory of its own choice.
    """
    named = os.environ.get("REAME_CONFIG") or config
    if named is None:
        return None
    path = Path(named).expanduser()
    if path.is_absolute() or path.exists():
        return path
    return PROJECT_ROOT / path


def load_deployment_settings(config: str | None) -> Settings:
    """Settings of this node.

    Raises:
        ConfigError: the file or an environment override is wrong.
    """
    return load_settings(config_path(config), os.environ)
