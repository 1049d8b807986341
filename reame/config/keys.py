"""API keys from ``[server] api_key`` and ``[server] api_keys_file``."""

from __future__ import annotations

from pathlib import Path

from reame.config.settings import Settings
from reame.errors import ConfigError


def api_keys(settings: Settings) -> tuple[str, ...]:
    """Every key that opens the server; none means that it is open.

    Raises:
        ConfigError: the file is missing, holds no key, or a key that no header can carry.
    """
    server = settings.server
    keys = [] if server.api_key is None else [_checked(server.api_key.get_secret_value(), "[server] api_key")]
    if server.api_keys_file is not None:
        keys += _read_keys(server.api_keys_file)
    return tuple(dict.fromkeys(keys))


def _read_keys(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(
            f"[server] api_keys_file: cannot read {path}: {reason}; write one key per line into it, "
            "or remove the setting",
            param="api_keys_file",
        ) from error
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    keys = [_checked(line, f"{path}, line {number}") for number, line in stripped if line and line[0] != "#"]
    if not keys:
        raise ConfigError(
            f"[server] api_keys_file: {path} holds no key; without keys the server would be open to all. "
            "Write one key per line, or remove the setting",
            param="api_keys_file",
        )
    return keys


def _checked(key: str, origin: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{origin}: an API key is made of printable ASCII characters without blanks")
    return key
