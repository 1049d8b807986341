"""``reame pull`` and ``reame models``: what scripts read, and how failures end."""

import json
from pathlib import Path

import fsspec
import gguf
import numpy as np
import pytest
from typer.testing import CliRunner

from reame.cli import app, main

RUNNER = CliRunner()


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder of this test's own."""
    monkeypatch.setenv("REAME_MODELS_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def remote_model(tmp_path: Path) -> str:
    """URL of a small GGUF in an object store."""
    path = tmp_path / "made.tmp"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("t", np.ones((2, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    fsspec.filesystem("memory").pipe("/cli/small.gguf", path.read_bytes())
    return "memory://cli/small.gguf"


def test_pull_prints_json(models_dir: Path, remote_model: str) -> None:
    """A script learns the path, whether it was there, and what was checked."""
    first, second = (RUNNER.invoke(app, ["pull", remote_model, "--json"]) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    (row,) = json.loads(first.stdout)
    assert row["reference"] == remote_model
    assert row["path"] == str(models_dir / "small.gguf")
    assert row["was_there"] is False
    assert row["checked_by"] == ["GGUF structure"]
    assert json.loads(second.stdout)[0]["was_there"] is True


def test_pull_into_another_folder(tmp_path: Path, remote_model: str) -> None:
    """``--dir`` wins over the models folder, and is made if need be."""
    folder = tmp_path / "a" / "b"
    assert RUNNER.invoke(app, ["pull", remote_model, "--dir", str(folder)]).exit_code == 0
    assert (folder / "small.gguf").is_file()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pull", "nosuchmodel"], 1),
        (["pull", "memory://cli/none.gguf"], 1),
        (["pull", "hf:x"], 2),
        (["pull"], 2),
    ],
)
def test_failures_have_their_exit_code(
    models_dir: Path, arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong ends with 1, what was written wrong with 2."""
    monkeypatch.setattr("sys.argv", ["reame", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == code


def test_models_lists_catalog_and_folder(models_dir: Path) -> None:
    """Known models say whether they are here; other files are listed too."""
    (models_dir / "mine.gguf").touch()
    (models_dir / "tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf").touch()
    result = RUNNER.invoke(app, ["models", "--json"])
    rows = {row["name"] or row["file"]: row for row in json.loads(result.stdout)}
    assert rows["tinyllama"]["is_here"] is True
    assert rows["smollm2-135m"]["is_here"] is False
    assert rows["smollm2-135m"]["has_sha256"] is True
    assert rows["olmoe"]["has_sha256"] is False
    assert rows["mine.gguf"]["is_here"] is True


def test_models_table_names_every_model(models_dir: Path) -> None:
    """The table for people holds each name."""
    result = RUNNER.invoke(app, ["models"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "smollm2-135m" in result.stdout
    assert "lfm2-1.2b" in result.stdout
