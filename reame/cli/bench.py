"""``reame bench``: measure on this machine; each bench writes JSON and a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from reame.cli.conf import ConfigOption, load_config
from reame.cli.fetch import ensure_model

bench_app = typer.Typer(help="Measure on this machine.", no_args_is_help=True)

OutOption = Annotated[Path, typer.Option("--out", help="Folder for the JSON and the picture.")]


@bench_app.callback()
def bench() -> None:
    """Measure on this machine; every figure comes with the machine, the model and the commit."""


@bench_app.command()
def engine(
    config: ConfigOption = None,
    streams: Annotated[str, typer.Option(help="Streams at once, separated by commas.")] = "1,4,8",
    tokens: Annotated[int, typer.Option(min=8, help="Tokens of each stream.")] = 96,
    rounds: Annotated[int, typer.Option(min=1, help="Paired rounds; medians are printed.")] = 5,
    targets: Annotated[str, typer.Option(help="Any of inprocess, http, ray.")] = "inprocess,http,ray",
    out: OutOption = Path("bench-results"),
    json: Annotated[bool, typer.Option("--json", help="Print the JSON instead of the table.")] = False,
) -> None:
    """Decode and prefill speed: bare llama_decode, the engine, and through HTTP; CPU per streamed token."""
    _, settings = load_config(config)
    model = ensure_model(settings)
    from rich.console import Console

    from reame.bench.engine import Plan, run_engine_bench
    from reame.bench.report import plot_bars
    from reame.engine.planner import plan_engine

    plan = Plan(tuple(int(n) for n in streams.split(",")), tokens, rounds)
    report = run_engine_bench(model, plan_engine(settings), plan, targets.split(","))
    path = report.save(out)
    title = "Decode tokens per second"
    plot_bars(
        report, path.with_suffix(".png"), group="streams", label="target", value="decode_tps", title=title
    )
    if json:
        print(report.to_json())
    else:
        report.print_table(Console(width=None if sys.stdout.isatty() else 160))
        print(f"written: {path}")
