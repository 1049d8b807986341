"""Finds the manifest that a name means. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from reame.catalog.manifest import Manifest
from reame.errors import ModelNotFoundError


def find_manifest(name: str, manifests: Sequence[Manifest]) -> Manifest:
    """The manifest with this name or alias, or the only one whose names begin so.

    Raises:
        ModelNotFoundError: none, or several; names the nearest.
    """
    wanted = name.casefold()
    exact = [m for m in manifests if wanted in (n.casefold() for n in m.names)]
    begin = [m for m in manifests if wanted and any(n.casefold().startswith(wanted) for n in m.names)]
    if exact or len(begin) == 1:
        return (exact or begin)[0]
    if begin:
        raise ModelNotFoundError(f"{name!r} may mean {_join(m.name for m in begin)}; write more of it")
    near = difflib.get_close_matches(wanted, [m.name for m in manifests], 3, 0.5)
    hint = f"did you mean {_join(near)}?" if near else "`reame models` lists all"
    raise ModelNotFoundError(f"no model {name!r} in the catalog; {hint}")


def try_find(name: str, manifests: Sequence[Manifest]) -> Manifest | None:
    """The same, or ``None``."""
    try:
        return find_manifest(name, manifests)
    except ModelNotFoundError:
        return None


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)
