"""The readers of doctor answer whatever they meet."""

from pathlib import Path

import pytest

from reame.cli import facts


def test_pins_are_exact_and_without_extras() -> None:
    """Only ``==`` pins of the package itself count; brackets do not matter."""
    requirements = ["ray[serve]==2.60.0", "numpy == 2.4.6", "rich>=1", 'ruff==0.1; extra == "dev"']
    assert facts.parse_pins(requirements) == {"ray": "2.60.0", "numpy": "2.4.6"}


def test_a_folder_that_does_not_exist_is_judged_by_its_parent(tmp_path: Path) -> None:
    """Space and permission of a folder to be made are those of where it will be."""
    folder = tmp_path / "a" / "b"
    assert facts.free_bytes(folder) > 0
    assert facts.write_problem(folder) is None
    assert not folder.exists()


def test_a_file_in_the_way_is_a_problem(tmp_path: Path) -> None:
    """A cache folder that is a file cannot be written to."""
    (tmp_path / "cache").write_text("")
    assert facts.write_problem(tmp_path / "cache") is not None


@pytest.mark.parametrize(
    ("returncode", "stderr", "words"),
    [
        (1, "Traceback ...\nImportError: no ray\n", "ImportError: no ray"),
        (-4, "", "another CPU"),
        (-11, "", "signal 11"),
        (3, "", "exit code 3"),
    ],
)
def test_how_a_probe_ended(returncode: int, stderr: str, words: str) -> None:
    """A probe's last line or its signal says what is wrong."""
    assert words in (facts.probe_problem(returncode, stderr) or "")
    assert facts.probe_problem(0, stderr) is None


def test_missing_packages_have_no_version() -> None:
    """What is not installed reads as None."""
    assert facts.installed_versions(["no-such-package-of-ours"]) == {"no-such-package-of-ours": None}
