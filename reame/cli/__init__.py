"""The ``reame`` command. Each subcommand has a module of its own; heavy imports wait for it."""

from reame.cli.main import app, main

__all__ = ["app", "main"]
