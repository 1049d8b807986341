"""Ray's environment: what is safe is set, the user's own values stay."""

import pytest

from reame.cli.ray_env import DEFAULTS, HAPROXY_SWITCH, ray_environment
from reame.config import load_settings
from reame.errors import ConfigError

OPEN = load_settings(None, {})
LOCKED = load_settings(None, {"REAME_SERVER__API_KEY": "secret"})


def test_defaults_without_haproxy() -> None:
    """All defaults are set; HAProxy never by itself, keys or not."""
    for settings in (OPEN, LOCKED):
        assert ray_environment(settings, {}) == DEFAULTS
    assert HAPROXY_SWITCH not in DEFAULTS


def test_the_users_value_wins() -> None:
    """A variable that is set is not touched, whatever its value."""
    additions = ray_environment(OPEN, {"RAY_SERVE_THROUGHPUT_OPTIMIZED": "0"})
    assert additions.keys() == DEFAULTS.keys() - {"RAY_SERVE_THROUGHPUT_OPTIMIZED"}


@pytest.mark.parametrize("value", ["1", "true", " True "])
def test_haproxy_needs_an_api_key(value: str) -> None:
    """It listens on every interface, so without a key it is refused."""
    with pytest.raises(ConfigError, match="api_key"):
        ray_environment(OPEN, {HAPROXY_SWITCH: value})
    assert HAPROXY_SWITCH not in ray_environment(LOCKED, {HAPROXY_SWITCH: value})


def test_haproxy_switched_off_is_no_matter() -> None:
    """0 is what Ray does anyway."""
    assert ray_environment(OPEN, {HAPROXY_SWITCH: "0"}) == DEFAULTS
