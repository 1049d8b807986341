"""Which file is served, and what a missing one's error says."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from reame.catalog import configured_manifest, models_directory, resolve_model
from reame.errors import ModelNotFoundError


@dataclass(frozen=True)
class _Model:
    path: str


@dataclass(frozen=True)
class _Settings:
    model: _Model
    source: Path | None
    base: Path


def _settings(folder: Path, path: str) -> _Settings:
    return _Settings(_Model(path), folder / "reame.conf", folder)


def test_relative_path_starts_at_the_configuration(tmp_path: Path) -> None:
    """A relative file is looked for beside the configuration."""
    (tmp_path / "m.gguf").touch()
    assert resolve_model(_settings(tmp_path, "./m.gguf"), {}) == tmp_path / "m.gguf"


def test_name_leads_to_the_models_directory(tmp_path: Path) -> None:
    """A catalog name means its file in the models directory."""
    folder = tmp_path / "models"
    folder.mkdir()
    file = folder / "SmolLM2-135M-Instruct.Q4_1.gguf"
    file.touch()
    settings = _settings(tmp_path, "smollm2-135m")
    assert resolve_model(settings, {}) == file
    manifest = configured_manifest(settings)
    assert manifest is not None
    assert manifest.name == "smollm2-135m"


def test_models_directory_by_variable_neighbour_and_home(tmp_path: Path) -> None:
    """The variable wins, then ``models`` beside the configuration, then the home folder."""
    settings = _settings(tmp_path, "x")
    assert models_directory(settings, {"REAME_MODELS_DIR": "/x"}) == Path("/x")
    assert models_directory(settings, {}) == Path.home() / ".reame" / "models"
    (tmp_path / "models").mkdir()
    assert models_directory(settings, {}) == tmp_path / "models"


def test_missing_file_says_everything(tmp_path: Path) -> None:
    """The error names the key, the path tried, where paths start, what is there and the command."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "other.gguf").touch()
    with pytest.raises(ModelNotFoundError) as caught:
        resolve_model(_settings(tmp_path, "models/wanted.gguf"), {})
    message = caught.value.message
    for part in (
        "[model] path",
        f"{tmp_path}/models/wanted.gguf",
        "reame.conf",
        "other.gguf",
        "reame pull NAME",
    ):
        assert part in message


def test_known_file_names_its_command(tmp_path: Path) -> None:
    """When the missing file is one of the catalog, the error has the exact command."""
    with pytest.raises(ModelNotFoundError, match="reame pull tinyllama"):
        resolve_model(_settings(tmp_path, "models/tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf"), {})


def test_unfetched_name_names_its_command(tmp_path: Path) -> None:
    """A catalog model that is not here yet says how to fetch it."""
    with pytest.raises(ModelNotFoundError, match=r"reame pull qwen3-0\.6b"):
        resolve_model(_settings(tmp_path, "qwen3-0.6b"), {"REAME_MODELS_DIR": str(tmp_path)})


def test_unknown_name_is_neither(tmp_path: Path) -> None:
    """A word that is no file and no model says both."""
    settings = _settings(tmp_path, "nosuch")
    assert configured_manifest(settings) is None
    with pytest.raises(ModelNotFoundError, match="no model of that name"):
        resolve_model(settings, {})
