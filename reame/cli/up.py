"""``reame up``: check, fetch, serve."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from reame.cli.conf import ConfigOption, load_config
from reame.cli.fetch import ensure_model
from reame.cli.ports import require_free_port
from reame.cli.ray_env import ray_environment
from reame.cli.serve_file import derive, engine_replicas, find_serve_file, read_serve_file
from reame.config import Settings
from reame.engine.memory import format_bytes, memory_available
from reame.engine.planner import need_function, plan_engine
from reame.errors import ConfigError, ModelError


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """What a browser on this machine takes."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.port}"


def up(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Listen here instead of [server] host.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Instead of [server] port.")] = None,
    replicas: Annotated[int | None, typer.Option(min=1, help="Engine replicas (with Ray only).")] = None,
    no_ray: Annotated[bool, typer.Option("--no-ray", help="Serve one engine in this process.")] = False,
) -> None:
    """Serve the configured model over HTTP until Ctrl-C."""
    if no_ray and replicas not in (None, 1):
        raise ConfigError("--replicas needs Ray; leave out --no-ray")
    conf, settings = load_config(config)
    for notice in settings.notices():
        print(f"note: {notice}", file=sys.stderr)
    address = Address(host or settings.server.host, port or settings.server.port)
    if no_ray:
        _serve_here(settings, address)
    else:
        _serve_with_ray(conf, settings, address, replicas)


def _serve_here(settings: Settings, address: Address) -> None:
    require_free_port(address.host, address.port)
    model = ensure_model(settings)
    options = plan_engine(settings)
    from reame.cli.up_local import serve

    serve(settings, options, model, address.host, address.port, greeting(address, settings))


def _serve_with_ray(conf: Path | None, settings: Settings, address: Address, replicas: int | None) -> None:
    additions = ray_environment(settings, os.environ)
    base = read_serve_file(find_serve_file(conf))
    content = derive(base, host=address.host, port=address.port, conf=conf, replicas=replicas)
    require_free_port(address.host, address.port)
    ensure_model(settings)
    check_replicas_fit(settings, engine_replicas(content))
    if conf is not None:
        additions["REAME_CONFIG"] = str(conf)  # the deployments would read the user's variable first
    from reame.cli.up_ray import serve

    sys.exit(serve(content, {**os.environ, **additions}, address.url, greeting(address, settings)))


def check_replicas_fit(settings: Settings, replicas: int) -> None:
    """All replicas of this machine fit into its memory together.

    Raises:
        ModelError: they do not, with the numbers.
    """
    from reame.catalog import gguf_summary

    options = plan_engine(settings)
    need = need_function(settings, gguf_summary(options.model_path))(options.context_length)
    supply = memory_available(settings.memory.max_ram_gib)
    if replicas * need.total_bytes > supply.available_bytes:
        raise ModelError(
            f"{replicas} replicas do not fit: each needs {need}, together "
            f"{format_bytes(replicas * need.total_bytes)}; there is {supply}. Start fewer, set a smaller "
            "[model] context_length, or choose a smaller model"
        )


def greeting(address: Address, settings: Settings) -> str:
    """What to print once requests are served: the address and one line to try."""
    key = ' -H "Authorization: Bearer $REAME_API_KEY"' if settings.server.api_key else ""
    return (
        f"\nreame serves on {address.url} (Ctrl-C ends it). Try:\n"
        f"  curl {address.url}/v1/chat/completions -H 'Content-Type: application/json'{key} "
        '-d \'{"messages": [{"role": "user", "content": "Hello!"}]}\'\n'
    )
