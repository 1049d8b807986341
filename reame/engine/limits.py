"""What the kernel lets this process have: CPU quota and memory, cgroup v1 and v2.

``root`` is where the file system starts, so tests bring their own ``/proc`` and ``/sys``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path("/")
_NO_LIMIT_BYTES = 1 << 60  # cgroup v1 writes "no limit" as a number just under 2**63


def parse_meminfo(text: str) -> dict[str, int]:
    """``/proc/meminfo`` as bytes by field; lines of another form are skipped."""
    fields: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            fields[name.strip()] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return fields


def parse_cgroups(text: str) -> dict[str, PurePosixPath]:
    """``/proc/self/cgroup`` as path by v1 controller; cgroup v2 stands under the empty name."""
    paths: dict[str, PurePosixPath] = {}
    for line in text.splitlines():
        parts = line.strip().split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                paths[controller] = PurePosixPath(parts[2])
    return paths


def parse_cpu_max(text: str) -> float | None:
    """cgroup v2's ``cpu.max`` in CPUs; ``None`` without a limit."""
    words = text.split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    return int(words[0]) / int(words[1]) if int(words[1]) else None


def parse_limit_bytes(text: str) -> int | None:
    """A memory limit of either cgroup version; ``None`` without one."""
    word = text.strip()
    return int(word) if word.isdigit() and int(word) < _NO_LIMIT_BYTES else None


def parse_file_cache_bytes(memory_stat: str) -> int:
    """Page cache that a cgroup is charged for and that the kernel takes back when it must."""
    fields = dict(line.split() for line in memory_stat.splitlines() if len(line.split()) == 2)
    prefix = "total_" if "total_inactive_file" in fields else ""
    names = (f"{prefix}inactive_file", f"{prefix}active_file")
    return sum(int(fields[name]) for name in names if fields.get(name, "").isdigit())


def available_memory(root: Path = ROOT) -> int | None:
    """Bytes that a new process may use before the machine swaps; ``None`` off Linux."""
    return parse_meminfo(_read(root / "proc/meminfo")).get("MemAvailable")


def cgroup_memory_left(root: Path = ROOT) -> int | None:
    """Bytes until the tightest memory limit around this process; ``None`` without one."""
    left = [
        max(0, limit - usage)
        for folder in _cgroup_folders(root, "memory")
        for limit, usage in [_memory_of(folder)]
        if limit is not None
    ]
    return min(left, default=None)


def cpu_quota(root: Path = ROOT) -> float | None:
    """CPUs' worth of time that the tightest quota around this process grants; ``None`` without one."""
    quotas = [_quota_of(folder) for folder in _cgroup_folders(root, "cpu")]
    return min((quota for quota in quotas if quota is not None), default=None)


def _memory_of(folder: Path) -> tuple[int | None, int]:
    """Limit and unreclaimable usage of one cgroup, whichever version it is."""
    limit = parse_limit_bytes(_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes"))
    usage = parse_limit_bytes(_read(folder / "memory.current") or _read(folder / "memory.usage_in_bytes"))
    cache = parse_file_cache_bytes(_read(folder / "memory.stat"))
    return limit, max(0, (usage or 0) - cache)


def _quota_of(folder: Path) -> float | None:
    v2 = parse_cpu_max(_read(folder / "cpu.max"))
    v1 = parse_cpu_max(
        f"{_read(folder / 'cpu.cfs_quota_us').strip()} {_read(folder / 'cpu.cfs_period_us').strip()}"
    )
    return v2 if v2 is not None else v1


def _cgroup_folders(root: Path, controller: str) -> Iterator[Path]:
    """This process's cgroup and all around it: a limit on any of them binds.

    In a container without a cgroup namespace the named path does not exist below the mount;
    the mount itself is then the container's cgroup.
    """
    paths = parse_cgroups(_read(root / "proc/self/cgroup"))
    base = root / "sys/fs/cgroup"
    for name, mount in ((controller, base / controller), ("", base), ("", base / "unified")):
        if name in paths and mount.is_dir():
            inside = paths[name].relative_to("/") if paths[name].is_absolute() else paths[name]
            yield from (mount / part for part in (inside, *inside.parents) if (mount / part).is_dir())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
