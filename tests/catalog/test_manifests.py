"""The catalog: every manifest is sound, and names lead to one model."""

from pathlib import Path

import pytest

from reame.catalog import find_manifest, load_manifests
from reame.catalog.manifest import Manifest, load_manifest
from reame.catalog.references import file_name, parse_reference
from reame.errors import ConfigError, ModelNotFoundError

MANIFESTS = load_manifests()


def test_catalog_holds_the_promised_models() -> None:
    """The demo model, the C++ Reame's six, and small models of four families."""
    names = {manifest.name for manifest in MANIFESTS}
    assert names >= {
        "smollm2-135m",
        "tinyllama",
        "qwen2.5-0.5b",
        "qwen2.5-1.5b",
        "qwen2.5-3b",
        "olmoe",
        "qwen3.5-9b",
    }
    assert {manifest.family for manifest in MANIFESTS} >= {"qwen3", "qwen3.5", "gemma3", "lfm2"}


def test_names_and_files_are_unique() -> None:
    """No name, alias or file belongs to two models."""
    names = [name for manifest in MANIFESTS for name in manifest.names]
    files = [manifest.file for manifest in MANIFESTS]
    assert len(set(names)) == len(names)
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda m: m.name)
def test_single_sources_end_with_the_file(manifest: Manifest) -> None:
    """A manifest's file is the one that its source names."""
    for parts in manifest.sources:
        if len(parts) == 1:
            assert file_name(parse_reference(parts[0])) == manifest.file


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("smollm2-135m", "smollm2-135m"),
        ("DEMO", "smollm2-135m"),
        ("tiny", "tinyllama"),
        ("gemma3-270m", "gemma3-270m"),
    ],
)
def test_names_aliases_and_prefixes(name: str, found: str) -> None:
    """A name, an alias in any case, or the beginning of one name is enough."""
    assert find_manifest(name, MANIFESTS).name == found


def test_ambiguous_prefix_lists_the_choices() -> None:
    """A beginning of several names asks for more."""
    with pytest.raises(ModelNotFoundError, match=r"qwen2\.5-0\.5b, .*write more"):
        find_manifest("qwen2.5", MANIFESTS)


def test_unknown_name_gets_near_ones() -> None:
    """A misspelt name is answered with the likely one; an odd one with the list."""
    with pytest.raises(ModelNotFoundError, match=r"did you mean qwen3-0\.6b"):
        find_manifest("quen3-0.6b", MANIFESTS)
    with pytest.raises(ModelNotFoundError, match="reame models"):
        find_manifest("zzzz", MANIFESTS)
    with pytest.raises(ModelNotFoundError):
        find_manifest("", MANIFESTS)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ('sha256 = "abc"', "sha256"),
        ("size = 0", "size"),
        ('colour = "red"', "colour"),
        ('file = "../x.gguf"', "file"),
        ('sources = ["ftp"]', "sources"),
        ("= x", "manifest"),
    ],
)
def test_damaged_manifest_is_named(tmp_path: Path, change: str, word: str) -> None:
    """A wrong manifest names its file and field."""
    fields = {
        "name": '"x"',
        "title": '"X"',
        "family": '"x"',
        "licence": '"MIT"',
        "file": '"x.gguf"',
        "sources": '["https://h/x.gguf"]',
        "context_length": "1",
    }
    key = change.partition(" = ")[0]
    lines = [f"{name} = {value}" for name, value in fields.items() if name != key]
    path = tmp_path / "x.toml"
    path.write_text("\n".join([*lines, change]))
    with pytest.raises(ConfigError, match=rf"x\.toml.*{word}|{word}.*x\.toml"):
        load_manifest(path)
