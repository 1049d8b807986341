"""Which configuration file a command reads."""

from pathlib import Path

import pytest

from reame.cli.conf import find_config
from reame.errors import ConfigError


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A working directory and a project, both with a reame.conf."""
    here, project = tmp_path / "here", tmp_path / "project"
    for folder in (here, project):
        folder.mkdir()
        (folder / "reame.conf").write_text("")
    return here, project


def test_the_nearest_wins(folders: tuple[Path, Path]) -> None:
    """The option, then the variable, then this folder, then the project, then none."""
    here, project = folders
    other = here / "other.conf"
    other.write_text("")
    variable = {"REAME_CONFIG": str(project / "reame.conf")}
    assert find_config(Path("other.conf"), variable, cwd=here, project=project) == other
    assert find_config(None, variable, cwd=here, project=project) == project / "reame.conf"
    assert find_config(None, {}, cwd=here, project=project) == here / "reame.conf"
    (here / "reame.conf").unlink()
    assert find_config(None, {}, cwd=here, project=project) == project / "reame.conf"
    (project / "reame.conf").unlink()
    assert find_config(None, {}, cwd=here, project=project) is None


@pytest.mark.parametrize(("option", "environ"), [(Path("no.conf"), {}), (None, {"REAME_CONFIG": "no.conf"})])
def test_a_named_file_must_exist(
    folders: tuple[Path, Path], option: Path | None, environ: dict[str, str]
) -> None:
    """A file that was asked for is never replaced by another; the error has its full path."""
    here, project = folders
    with pytest.raises(ConfigError, match=str(here / "no.conf")):
        find_config(option, environ, cwd=here, project=project)
