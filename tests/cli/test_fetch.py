"""A start fetches a model that it knows by name, and only such a one."""

from pathlib import Path

import pytest

from reame.catalog import find_manifest, load_manifests
from reame.cli.fetch import ensure_model
from reame.config import Settings, load_settings
from reame.errors import ModelInvalidError, ModelNotFoundError

DEMO = find_manifest("smollm2-135m", load_manifests())


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, Path]]:
    """Pulls that were asked for, instead of made."""
    calls: list[tuple[str, Path]] = []

    def pull(name: str, directory: Path, progress: object) -> Path:
        assert callable(progress)
        progress(1, None)
        calls.append((name, directory))
        return directory / DEMO.file

    monkeypatch.setenv("REAME_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr("reame.cli.fetch.pull", pull)
    return calls


def _settings(path: str) -> Settings:
    return load_settings(None, {"REAME_MODEL__PATH": path})


def test_a_known_name_is_fetched(
    pulled: list[tuple[str, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file lands in the models directory; without a terminal one line tells of it."""
    assert ensure_model(_settings(DEMO.name)) == tmp_path / DEMO.file
    assert pulled == [(DEMO.name, tmp_path)]
    assert capsys.readouterr().err == f"fetching {DEMO.title}\n"


@pytest.mark.parametrize("path", ["./none.gguf", "no-such-model"])
def test_anything_else_is_missing(pulled: list[tuple[str, Path]], path: str) -> None:
    """A path or an unknown name is never fetched."""
    with pytest.raises(ModelNotFoundError):
        ensure_model(_settings(path))
    assert pulled == []


def test_a_damaged_file_is_found_before_llama_cpp_sees_it(tmp_path: Path) -> None:
    """Half a file is an error that says so."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(ModelInvalidError):
        ensure_model(_settings(str(broken)))


@pytest.mark.model
def test_a_file_that_is_there_is_taken(pulled: list[tuple[str, Path]], demo_model: Path) -> None:
    """Nothing is fetched."""
    assert ensure_model(_settings(str(demo_model))) == demo_model
    assert pulled == []
