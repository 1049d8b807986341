"""``reame doctor``: everything that keeps reame from serving well here, and what to do about it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reame.catalog import check_gguf, gguf_summary, models_directory, resolve_model
from reame.cli import checks, cpu, facts
from reame.cli.checks import Check, Status
from reame.cli.conf import ConfigOption, load_config
from reame.cli.ports import port_holder
from reame.cli.ray_env import haproxy_is_asked
from reame.cli.serve_file import engine_replicas, find_serve_file, read_serve_file
from reame.cli.version import installed_version
from reame.config import Settings, api_keys
from reame.engine.memory import format_bytes, memory_available
from reame.engine.planner import need_function, plan_context
from reame.engine.threads import default_num_threads
from reame.errors import ConfigError, ModelError, ReameError

_MIB = 2**20
_COLORS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


def doctor(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check this machine, the configuration and the model."""
    found = list(run_checks(config))
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in found], indent=2))
    else:
        _show(found)
    if any(check.status is Status.FAIL for check in found):
        raise typer.Exit(1)


def run_checks(config: Path | None) -> Iterator[Check]:
    """All checks; those that need what failed before are left out."""
    yield checks.check_python(sys.version_info[:3])
    pins = facts.read_pins()
    yield checks.check_packages(pins, facts.installed_versions(pins or ()))
    yield cpu.check_llama(*_llama_facts())
    yield checks.check_ray(installed_version("ray"), facts.probe_ray())
    try:
        path, settings = load_config(config)
    except ReameError as error:
        yield checks.fail("configuration", error.message, "mend the named line or variable")
        return
    yield _configuration(path, settings)
    yield from _model(path, settings)
    yield from _places(settings)
    yield from _network(settings)
    yield checks.check_threads(settings.model.threads, default_num_threads())


def _llama_facts() -> tuple[frozenset[str] | None, frozenset[str], str | None]:
    built, problem = facts.probe_llama()
    return built, cpu.parse_cpu_flags(facts.read_cpuinfo()), problem


def _configuration(path: Path | None, settings: Settings) -> Check:
    name = str(path) if path is not None else "no reame.conf; defaults"
    notices = settings.notices()
    if notices:
        return checks.warn("configuration", f"{name}: {'; '.join(notices)}", "remove the keys without effect")
    return checks.ok("configuration", name)


def _model(conf: Path | None, settings: Settings) -> Iterator[Check]:
    try:
        model = resolve_model(settings)
        check_gguf(model)
    except ModelError as error:
        yield checks.fail("model", error.message, "fetch it: reame pull NAME (reame models lists them)")
        return
    summary = gguf_summary(model)
    yield checks.ok("model", f"{model} ({format_bytes(summary.file_bytes)}, {summary.architecture})")
    supply = memory_available(settings.memory.max_ram_gib)
    try:
        context_length = plan_context(settings, summary, supply)
        replicas = engine_replicas(read_serve_file(find_serve_file(conf)))
    except ConfigError as error:
        yield checks.fail("memory", error.message, "change the named key")
    except ModelError as error:
        yield checks.fail("memory", error.message, "see the three ways in the message")
    else:
        need = need_function(settings, summary)(context_length)
        yield checks.check_memory(need, supply, replicas=replicas, context_length=context_length)


def _places(settings: Settings) -> Iterator[Check]:
    models = models_directory(settings)
    yield checks.check_disk("models disk", str(models), facts.free_bytes(models), checks.MIN_SPARE_BYTES)
    cache = settings.cache.directory
    wanted = settings.cache.max_size_mb * _MIB
    yield checks.check_disk("cache disk", str(cache), facts.free_bytes(cache), wanted)
    yield checks.check_writable(str(cache), facts.write_problem(cache))


def _network(settings: Settings) -> Iterator[Check]:
    host, port = settings.server.host, settings.server.port
    yield checks.check_port(host, port, port_holder(host, port))
    try:
        has_keys = bool(api_keys(settings))
    except ConfigError as error:
        yield checks.fail("access", error.message, "make the file, or change [server] api_keys_file")
        return
    yield checks.check_exposure(host, has_keys)
    yield checks.check_haproxy(haproxy_is_asked(os.environ), has_keys)


def _show(found: list[Check]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if not console.is_terminal:
        for check in found:
            typer.echo(
                f"{check.status:<5}{check.name}: {check.message}"
                + (f" -> {check.mend}" if check.mend else "")
            )
        return
    table = Table("", "check", "finding", box=None, pad_edge=False)
    for check in found:
        finding = Text(check.message)
        if check.mend:
            finding.append(f"\n-> {check.mend}", style="bold")
        table.add_row(Text(check.status, style=_COLORS[check.status]), check.name, finding)
    console.print(table)
