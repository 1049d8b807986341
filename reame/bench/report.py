"""How a measurement is kept: rows as JSON, a table on the terminal, a picture beside the JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from reame.bench.machine import Machine

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark's result. Each row is a flat mapping of names to numbers or words."""

    name: str
    machine: Machine
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())

    def to_json(self) -> str:
        """The JSON document of contract: ``rows`` and ``machine``."""
        document = {
            "bench": self.name,
            "taken": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": self.machine.as_dict(),
            "rows": list(self.rows),
            "notes": list(self.notes),
        }
        return json.dumps(document, indent=1)

    def print_table(self, console: Console) -> None:
        """Rows as a table, the machine above it and the notes below."""
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        table = Table(title=f"reame bench {self.name}: {self.machine}", box=box.SIMPLE_HEAD)
        for column in columns:
            table.add_column(column.replace("_", " "), justify="right" if column != columns[0] else "left")
        for row in self.rows:
            table.add_row(*(_cell(row.get(column)) for column in columns))
        console.print(table)
        for note in self.notes:
            console.print(note)

    def save(self, directory: Path) -> Path:
        """Write ``NAME.json`` into ``directory`` and return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.name}.json"
        path.write_text(self.to_json())
        return path


def _cell(value: object) -> str:
    if value is None:
        return ""
    return (
        f"{value:.3g}"
        if isinstance(value, float) and abs(value) < 100
        else (f"{value:.0f}" if isinstance(value, float) else str(value))
    )


def plot_bars(report: Report, path: Path, *, group: str, label: str, value: str, title: str) -> bool:
    """Draw ``value`` as bars, grouped by ``group``, one for each ``label``; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in report.rows if row.get(value) is not None]
    groups = list(dict.fromkeys(row[group] for row in rows))
    labels = list(dict.fromkeys(row[label] for row in rows))
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    width = 0.8 / max(1, len(labels))
    for number, name in enumerate(labels):
        values = {row[group]: row[value] for row in rows if row[label] == name}
        places = [groups.index(g) + number * width for g in values]
        bars = axes.bar(places, list(values.values()), width, label=str(name))
        axes.bar_label(bars, fmt="%.3g", fontsize=8)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(groups))], [f"{group} {g}" for g in groups])
    axes.set_ylabel(value)
    axes.set_title(f"{title}\n{report.machine}", fontsize=8)
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return True
