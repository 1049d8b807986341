"""The file that ``reame up`` gives to ``serve run``: the project's own, with this start's values."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reame.errors import ConfigError

SERVE_FILE = "serve_config.yaml"
_PROJECT_ROOT = Path(__file__).resolve().parent.parent.parent

BUILT_IN: Mapping[str, Any] = {
    "proxy_location": "EveryNode",
    "http_options": {
        "host": "127.0.0.1",
        "port": 8000,
        "request_timeout_s": None,
        "keep_alive_timeout_s": 75,
    },
    "logging_config": {"log_level": "INFO", "enable_access_log": False},
    "applications": [
        {
            "name": "reame",
            "route_prefix": "/",
            "import_path": "deployments.app:build",
            "args": {"config": "reame.conf"},
            "deployments": [
                {
                    "name": "Ingress",
                    "num_replicas": 1,
                    "max_ongoing_requests": 1000,
                    "ray_actor_options": {"num_cpus": 0},
                },
                {
                    "name": "Engine",
                    "num_replicas": 1,
                    "health_check_period_s": 10,
                    "health_check_timeout_s": 30,
                    "graceful_shutdown_wait_loop_s": 2,
                    "graceful_shutdown_timeout_s": 120,
                    "ray_actor_options": {"num_cpus": 1},
                },
            ],
        }
    ],
}
"""``serve_config.yaml`` again, for an installation without the project's folder."""


def find_serve_file(conf: Path | None) -> Path | None:
    """The ``serve_config.yaml`` beside the configuration, else the project's, else none."""
    folders = ([conf.parent] if conf is not None else []) + [_PROJECT_ROOT]
    return next((folder / SERVE_FILE for folder in folders if (folder / SERVE_FILE).is_file()), None)


def read_serve_file(path: Path | None) -> Mapping[str, Any]:
    """The file's content; the built-in equivalent without a file.

    Raises:
        ConfigError: it is not a YAML mapping.
    """
    if path is None:
        return BUILT_IN
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("applications"), list):
        raise ConfigError(f"{path} holds no list of applications; it must be a Ray Serve configuration")
    return content


def derive(
    base: Mapping[str, Any], *, host: str, port: int, conf: Path | None, replicas: int | None
) -> dict[str, Any]:
    """``base`` with this start's address, configuration file and number of engine replicas.

    ``replicas`` of ``None`` keeps what ``base`` says.
    """
    derived: dict[str, Any] = copy.deepcopy(dict(base))
    derived["http_options"] = {**(derived.get("http_options") or {}), "host": host, "port": port}
    for application in derived["applications"]:
        application["args"] = {**(application.get("args") or {}), "config": str(conf) if conf else None}
        for deployment in application.get("deployments", []):
            if deployment["name"] == "Engine" and replicas is not None:
                deployment["num_replicas"] = replicas
    return derived


def engine_replicas(content: Mapping[str, Any]) -> int:
    """How many engines a serve configuration starts at once."""
    for application in content["applications"]:
        for deployment in application.get("deployments", []):
            if deployment.get("name") == "Engine" and isinstance(deployment.get("num_replicas"), int):
                return int(deployment["num_replicas"])
    return 1
