"""What a measurement must say about where it was taken."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from reame import __version__


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine, the model and the code behind a set of rows. Memory in bytes."""

    cpu: str
    architecture: str
    num_cores: int
    memory_bytes: int
    python: str
    reame: str
    commit: str
    model: str

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.cpu} ({self.architecture}), {self.num_cores} cores, {self.memory_bytes / 2**30:.0f} GiB; "
            f"{self.model}; reame {self.reame} at {self.commit}"
        )


def describe_machine(model: Path) -> Machine:
    """Look at this machine and at the checkout, if there is one."""
    return Machine(
        cpu=_cpu_name(),
        architecture=platform.machine(),
        num_cores=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        reame=__version__,
        commit=_commit(),
        model=model.name,
    )


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown CPU"
    for line in lines:
        if line.startswith(("model name", "Model", "CPU part")):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def _commit() -> str:
    root = Path(__file__).resolve().parent
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no checkout"
