"""``cluster/build_wheel.sh`` compiles once for each CPU and never shows half a wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "cluster" / "build_wheel.sh"
TOOLS = ("bash", "chmod", "dirname", "flock", "mkdir", "mktemp", "mv", "nproc", "rm", "sed", "uname")

FAKE_PYTHON = """\
#!/bin/bash
if [ "$1" != -m ]; then exec {python} "$@"; fi
echo "$*" >> {log}
while [ "$1" != --wheel-dir ]; do shift; done
{action}
"""


@pytest.fixture
def fake_python(tmp_path: Path) -> Path:
    """A Python whose pip makes a wheel in no time and writes down each call."""
    return _fake(tmp_path, 'touch "$2/llama_cpp_python-0-py3-none-any.whl"')


def _fake(tmp_path: Path, action: str) -> Path:
    path = tmp_path / "python"
    path.write_text(FAKE_PYTHON.format(python=sys.executable, log=tmp_path / "log", action=action))
    path.chmod(0o755)
    return path


def _environ(tmp_path: Path, **extra: str) -> dict[str, str]:
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("gcc", "g++", "make"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(tmp_path), "REAME_WHEEL_DIR": str(tmp_path / "wheels"), **extra}


def _start(python: Path, environ: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(SCRIPT), str(python)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _build(python: Path, environ: dict[str, str]) -> tuple[int, str, str]:
    process = _start(python, environ)
    out, err = process.communicate()
    return process.returncode, out.strip(), err


def _num_builds(tmp_path: Path) -> int:
    return len((tmp_path / "log").read_text().splitlines())


def test_the_second_call_reuses_the_wheel(tmp_path: Path, fake_python: Path) -> None:
    """The path alone is on stdout, the same both times, and pip ran once."""
    code, first, _ = _build(fake_python, _environ(tmp_path))
    assert code == 0
    assert Path(first).is_file()
    assert _build(fake_python, _environ(tmp_path))[:2] == (0, first)
    assert _num_builds(tmp_path) == 1


def test_other_compiler_flags_are_another_wheel(tmp_path: Path, fake_python: Path) -> None:
    """CMAKE_ARGS are part of the key."""
    one = _build(fake_python, _environ(tmp_path))[1]
    other = _build(fake_python, _environ(tmp_path, CMAKE_ARGS="-DGGML_NATIVE=OFF"))[1]
    assert one != other
    assert _num_builds(tmp_path) == 2


def test_two_at_once_build_once(tmp_path: Path, fake_python: Path) -> None:
    """The second waits for the first and takes its wheel."""
    processes = [_start(fake_python, _environ(tmp_path)) for _ in range(3)]
    paths = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(paths) == 1
    assert _num_builds(tmp_path) == 1


@pytest.mark.parametrize("action", ["exit 1", "exit 0"])
def test_a_failed_build_leaves_nothing(tmp_path: Path, action: str) -> None:
    """A build that fails or makes no wheel is an error, and the next call starts afresh."""
    code, out, err = _build(_fake(tmp_path, action), _environ(tmp_path))
    assert (code, out) == (1, "")
    assert "error: " in err
    assert [p for p in (tmp_path / "wheels").iterdir() if p.is_dir()] == []


def test_missing_compilers_are_named(tmp_path: Path, fake_python: Path) -> None:
    """Without a compiler the error is the command that installs one."""
    tools = tmp_path / "few"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (tools / name).symlink_to(found)
    code, _, err = _build(fake_python, {**_environ(tmp_path), "PATH": str(tools)})
    assert code == 1
    assert "apt-get install gcc g++ make" in err
