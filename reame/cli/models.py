"""``reame models``: what can be fetched, and what is here."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from reame.cli.conf import ConfigOption, load_config


def models(
    config: ConfigOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List the models that `reame pull` knows, and the GGUF files in the models folder."""
    from reame.catalog import load_manifests, models_directory

    folder = models_directory(load_config(config)[1])
    rows = [_known(m, folder) for m in load_manifests()]
    known = {row["file"] for row in rows}
    rows += [_other(path) for path in sorted(folder.glob("*.gguf")) if path.name not in known]
    if json:
        print(json_module.dumps(rows, indent=1))
    else:
        _print_table(rows, folder)


def _known(manifest: Any, folder: Path) -> dict[str, Any]:
    return {
        "name": manifest.name,
        "title": manifest.title,
        "licence": manifest.licence,
        "file": manifest.file,
        "size": manifest.size,
        "context_length": manifest.context_length,
        "has_sha256": manifest.sha256 is not None,
        "is_here": (folder / manifest.file).is_file(),
    }


def _other(path: Path) -> dict[str, Any]:
    row = {"name": None, "title": None, "licence": None, "file": path.name, "size": path.stat().st_size}
    return {**row, "context_length": None, "has_sha256": False, "is_here": True}


def _print_table(rows: list[dict[str, Any]], folder: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(caption=f"files in {folder}; fetch one with `reame pull NAME`")
    for column in ("name", "model", "size", "context", "licence", "checked by", "here"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row["name"] or "",
            row["title"] or row["file"],
            f"{row['size'] / 1e6:,.0f} MB" if row["size"] else "?",
            str(row["context_length"] or ""),
            row["licence"] or "",
            "sha256" if row["has_sha256"] else ("structure" if row["name"] else ""),
            "yes" if row["is_here"] else "",
        )
    Console().print(table)
