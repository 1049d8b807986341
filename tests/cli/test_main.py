"""What a caller of ``reame`` sees: exit codes, one line for an error, help that starts at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reame import __version__
from reame.cli import main
from reame.cli.main import exit_code_of
from reame.errors import ConfigError, FetchError, ModelNotFoundError

ROOT = Path(__file__).resolve().parent.parent.parent


def _call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["reame", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a working directory and models of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REAME_MODELS_DIR", str(tmp_path / "models"))


def test_no_arguments_welcome(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer sees three examples, not an error."""
    assert _call(monkeypatch) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  reame ")]
    assert len(lines) == 3


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The option prints one line, the command what a bug report needs, as JSON too."""
    assert _call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"reame {__version__}\n"
    assert _call(monkeypatch, "version", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reame"] == __version__
    assert {"llama-cpp-python", "ggml", "ray", "python", "machine"} < found.keys()
    assert _call(monkeypatch, "version") == 0
    assert "llama-cpp-python" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("run",),
        ("up", "--port", "0"),
        ("up", "--port", "many"),
        ("run", "m", "--temperature", "99"),
        ("up", "--config", "missing.conf"),
        ("up", "--no-ray", "--replicas", "2"),
        ("doctor", "--unknown"),
    ],
)
def test_wrong_use_is_2(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the caller wrote wrong ends with 2 and says so on stderr."""
    assert _call(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert "rror" in captured.err
    assert "Traceback" not in captured.err + captured.out


def test_a_wrong_configuration_is_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the file's line; there is no traceback."""
    (tmp_path / "reame.conf").write_text("[server]\nprot = 1\n")
    assert _call(monkeypatch, "up") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "port" in error
    assert "Traceback" not in error


def test_a_missing_model_is_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the path; a shell sees 1."""
    assert _call(monkeypatch, "run", "./none.gguf", "hello") == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "none.gguf" in error


def test_exit_codes_by_error() -> None:
    """Only configuration errors are wrong use."""
    assert exit_code_of(ConfigError("x")) == 2
    assert {exit_code_of(FetchError("x")), exit_code_of(ModelNotFoundError("x"))} == {1}


def test_help_needs_no_heavy_library() -> None:
    """``reame --help`` starts at once: it loads neither Ray nor llama.cpp nor the web framework."""
    code = (
        "import sys\n"
        "from reame.cli import main\n"
        "sys.argv = ['reame', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'ray', 'llama_cpp', 'fastapi', 'starlette', 'uvicorn', 'httpx', 'numpy', 'fsspec'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.strip() == "[]"
    for command in ("up", "run", "pull", "models", "doctor", "bench", "version"):
        assert command in done.stdout
