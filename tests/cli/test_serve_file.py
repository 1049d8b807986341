"""``reame up`` starts Serve from the project's file with this start's values."""

from pathlib import Path

import pytest

from reame.cli.serve_file import (
    BUILT_IN,
    SERVE_FILE,
    derive,
    engine_replicas,
    find_serve_file,
    read_serve_file,
)
from reame.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent.parent


def test_built_in_equals_the_projects_file() -> None:
    """An installation without the project's folder serves the same."""
    assert read_serve_file(ROOT / SERVE_FILE) == BUILT_IN
    assert read_serve_file(None) is BUILT_IN


def test_derived_values_reach_their_places() -> None:
    """Host, port, configuration and replicas are set; the base stays as it was."""
    derived = derive(BUILT_IN, host="0.0.0.0", port=9, conf=Path("/c/reame.conf"), replicas=3)
    assert derived["http_options"]["host"] == "0.0.0.0"
    assert derived["http_options"]["port"] == 9
    assert derived["http_options"]["request_timeout_s"] is None
    assert derived["applications"][0]["args"] == {"config": "/c/reame.conf"}
    assert engine_replicas(derived) == 3
    assert engine_replicas(BUILT_IN) == 1
    assert BUILT_IN["http_options"]["port"] == 8000


def test_no_configuration_means_defaults() -> None:
    """Without a reame.conf the deployments get none, and the file's replicas stay."""
    derived = derive(BUILT_IN, host="h", port=1, conf=None, replicas=None)
    assert derived["applications"][0]["args"] == {"config": None}
    assert engine_replicas(derived) == 1


def test_the_file_beside_the_configuration_wins(tmp_path: Path) -> None:
    """A serve_config.yaml next to reame.conf is used before the project's own."""
    conf = tmp_path / "reame.conf"
    assert find_serve_file(conf) == ROOT / SERVE_FILE
    (tmp_path / SERVE_FILE).write_text("applications: []\n")
    assert find_serve_file(conf) == tmp_path / SERVE_FILE
    assert read_serve_file(tmp_path / SERVE_FILE) == {"applications": []}


@pytest.mark.parametrize("text", ["{", "[]", "applications: 3", ""])
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str) -> None:
    """What Serve could not read is refused before Ray starts."""
    (tmp_path / SERVE_FILE).write_text(text)
    with pytest.raises(ConfigError, match=SERVE_FILE):
        read_serve_file(tmp_path / SERVE_FILE)
