"""The layers of the design hold: a module imports only from lower layers or its own package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("reame.types", "reame.errors"),
    ("reame.blocks", "reame.config", "reame.metrics", "reame.logs", "reame.catalog"),
    ("reame.prompt", "reame.cache", "reame.routing"),
    ("reame.engine",),
    ("reame.api",),
    ("deployments",),
    ("reame.cli", "reame.bench"),
)

HEAVY: dict[str, tuple[str, ...]] = {
    "ray": ("deployments", "reame.cli", "reame.bench"),
    "llama_cpp": ("reame.prompt.tokenizer", "reame.engine.llama", "reame.cli", "reame.bench"),
    "fastapi": ("reame.api", "deployments", "reame.cli", "reame.bench"),
    "starlette": ("reame.api", "deployments", "reame.cli", "reame.bench"),
    "fsspec": ("reame.cache.mirror", "reame.catalog", "reame.cli", "reame.bench"),
    "httpx": ("reame.catalog", "reame.cli", "reame.bench"),
}


def _modules() -> dict[str, Path]:
    paths = [*ROOT.glob("reame/**/*.py"), *ROOT.glob("deployments/**/*.py")]
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}


MODULES = _modules()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _unit(module: str) -> tuple[int, str] | None:
    """Layer number and unit (a module or package of the table) that a module belongs to."""
    for number, units in enumerate(LAYERS):
        for unit in units:
            if module == unit or module.startswith(unit + "."):
                return number, unit
    return None


def _is_within(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


def test_every_module_has_a_layer() -> None:
    """A module outside the table would escape the rules."""
    assert len(MODULES) > 30
    assert [m for m in MODULES if m != "reame" and _unit(m) is None] == []


@pytest.mark.parametrize("module", sorted(m for m in MODULES if m != "reame"))
def test_imports_only_from_lower_layers(module: str) -> None:
    """No module reaches up, or sideways into a sibling package."""
    layer, unit = _unit(module) or (-1, "")
    for name in _imports(MODULES[module]):
        other = _unit(name)
        if other is not None and other[1] != unit:
            is_top = layer == other[0] == len(LAYERS) - 1  # the CLI starts the benches
            assert other[0] < layer or is_top, f"{module} (layer {layer}) imports {name} (layer {other[0]})"


@pytest.mark.parametrize("library", sorted(HEAVY))
def test_heavy_libraries_stay_where_they_belong(library: str) -> None:
    """Each heavy library is imported only by the modules that the design names for it."""
    users = {m for m, path in MODULES.items() if any(_is_within(n, (library,)) for n in _imports(path))}
    assert {m for m in users if not _is_within(m, HEAVY[library])} == set()


def test_core_imports_without_ray() -> None:
    """``import reame`` and everything below ``deployments`` work where Ray is not installed."""
    import subprocess
    import sys

    below = sorted(m for m in MODULES if not _is_within(m, ("deployments", "reame.bench")))
    code = "import sys; sys.modules['ray'] = None\n" + "\n".join(f"import {m}" for m in below)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
