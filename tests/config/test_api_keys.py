"""API keys: from one key, from a file, never by accident none."""

from pathlib import Path

import pytest

from reame.config import api_keys, load_settings
from reame.errors import ConfigError


def _keys(folder: Path, lines: str | None, **environ: str) -> tuple[str, ...]:
    path = folder / "keys.txt"
    if lines is not None:
        path.write_text(lines)
        environ["REAME_SERVER__API_KEYS_FILE"] = str(path)
    return api_keys(load_settings(None, environ))


def test_no_keys_is_an_open_server(tmp_path: Path) -> None:
    """Without either setting there are no keys."""
    assert _keys(tmp_path, None) == ()


def test_keys_of_both_settings_count(tmp_path: Path) -> None:
    """The single key and the file's keys all open the server, each once."""
    keys = _keys(tmp_path, "# team\nabc\r\n\n  def  \nabc\n", REAME_SERVER__API_KEY="one")
    assert keys == ("one", "abc", "def")


@pytest.mark.parametrize("lines", ["", "# none\n", "two words\n", "schlüssel\n"])
def test_file_without_a_usable_key_is_refused(tmp_path: Path, lines: str) -> None:
    """A file that protects nothing is an error, not an open server."""
    with pytest.raises(ConfigError, match=r"keys\.txt"):
        _keys(tmp_path, lines)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A keys file that is not there is an error that names the setting."""
    with pytest.raises(ConfigError, match=r"\[server\] api_keys_file"):
        api_keys(load_settings(None, {"REAME_SERVER__API_KEYS_FILE": str(tmp_path / "none")}))


def test_bad_key_is_not_printed(tmp_path: Path) -> None:
    """The error about a key does not show it."""
    with pytest.raises(ConfigError) as caught:
        _keys(tmp_path, None, REAME_SERVER__API_KEY="se cret")
    assert "se cret" not in caught.value.message
