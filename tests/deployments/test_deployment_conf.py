"""Where a deployment finds its configuration."""

from pathlib import Path

import pytest

from deployments.conf import PROJECT_ROOT, config_path, load_deployment_settings
from reame.errors import ConfigError


def test_without_a_name_there_are_only_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration is a configuration too."""
    monkeypatch.delenv("REAME_CONFIG", raising=False)
    assert config_path(None) is None


def test_a_relative_name_is_found_here_or_in_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ray starts workers in a directory of its own choice, so the project's folder counts as well."""
    monkeypatch.delenv("REAME_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    assert config_path("reame.conf") == PROJECT_ROOT / "reame.conf"
    (tmp_path / "reame.conf").write_text("")
    assert config_path("reame.conf") == Path("reame.conf")


def test_the_environment_names_it_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`reame up --config` reaches the deployments through the environment."""
    conf = tmp_path / "other.conf"
    conf.write_text("[server]\nparallel = 7\n")
    monkeypatch.setenv("REAME_CONFIG", str(conf))
    assert load_deployment_settings("reame.conf").server.parallel == 7


def test_a_missing_file_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A named file that is not there must not become silent defaults."""
    monkeypatch.setenv("REAME_CONFIG", str(tmp_path / "none.conf"))
    with pytest.raises(ConfigError, match=r"none\.conf"):
        load_deployment_settings(None)
