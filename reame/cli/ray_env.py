"""The environment in which ``reame up`` starts Ray. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reame.config import Settings, api_keys
from reame.errors import ConfigError

HAPROXY_SWITCH = "RAY_SERVE_ENABLE_HA_PROXY"

DEFAULTS: Mapping[str, str] = {
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",  # less CPU for each streamed token in proxy and replica
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",  # else Ctrl-C takes 30 s with nothing running
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.5",  # at Ray's 0.1 the idle controller takes 3 % of a core
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves this machine unasked
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # silences a warning about deployments without GPUs
}
"""Set unless the user set them."""


def haproxy_is_asked(environ: Mapping[str, str]) -> bool:
    """Whether the user switched Ray's HAProxy on; reame never does."""
    return environ.get(HAPROXY_SWITCH, "0").strip().lower() in ("1", "true")


def ray_environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to ``environ`` for Ray and all that it starts.

    Raises:
        ConfigError: HAProxy is asked for without an API key; it listens on every interface.
    """
    if haproxy_is_asked(environ) and not api_keys(settings):
        raise ConfigError(
            f"{HAPROXY_SWITCH} is set, and Ray's HAProxy listens on every network interface whatever "
            "[server] host says; set [server] api_key first, or unset the variable"
        )
    return {name: value for name, value in DEFAULTS.items() if name not in environ}
