"""The application: its commands, and the one place where an error becomes a line and a code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from reame import __version__
from reame.cli.bench import bench_app
from reame.cli.doctor import doctor
from reame.cli.models import models
from reame.cli.pull import pull
from reame.cli.run import run
from reame.cli.up import up
from reame.cli.version import version
from reame.errors import ConfigError, ReameError

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
_EXIT_INTERRUPTED = 130

_WELCOME = """\
reame serves open language models on CPU machines, over the OpenAI API.

  reame up                        serve the model of reame.conf on http://127.0.0.1:8000
  reame run smollm2-135m "Hello"  ask a model here in the terminal
  reame doctor                    check this machine

All commands: reame --help
"""

app = typer.Typer(
    name="reame",
    help="Open language models on cheap CPU machines, over the OpenAI API.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _command in (up, run, pull, models, doctor, version):
    app.command()(_command)
app.add_typer(bench_app, name="bench")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"reame {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(_WELCOME, nl=False)


def exit_code_of(error: ReameError) -> int:
    """2 for what the caller wrote wrong, 1 for what went wrong."""
    return EXIT_WRONG_USE if isinstance(error, ConfigError) else EXIT_FAILED


def main() -> None:
    """Entry point of the ``reame`` script."""
    try:
        app()
    except ReameError as error:
        print(f"error: {error.message}", file=sys.stderr)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)
