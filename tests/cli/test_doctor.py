"""``reame doctor`` as a whole: what it reports, in which form, with which exit code."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reame.cli import app, doctor, facts
from reame.cli.checks import Check, Status

runner = CliRunner()
PROBE_LLAMA, PROBE_RAY = facts.probe_llama, facts.probe_ray


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, no models, and libraries that load."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REAME_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.delenv("RAY_SERVE_ENABLE_HA_PROXY", raising=False)
    monkeypatch.setattr(facts, "probe_llama", lambda: (frozenset({"REPACK"}), None))
    monkeypatch.setattr(facts, "probe_ray", lambda: None)
    monkeypatch.setattr(facts, "read_cpuinfo", lambda: "")


def _conf(folder: Path, text: str) -> Path:
    path = folder / "reame.conf"
    path.write_text(text)
    return path


def _checks(*arguments: str) -> tuple[int, dict[str, Check]]:
    result = runner.invoke(app, ["doctor", "--json", *arguments])
    found = [Check(**check) for check in json.loads(result.stdout)]
    assert len({check.name for check in found}) == len(found)
    return result.exit_code, {check.name: check for check in found}


@pytest.mark.model
def test_a_sound_machine(tmp_path: Path, demo_model: Path) -> None:
    """With model and memory there, nothing fails and the numbers are shown."""
    _conf(tmp_path, f"[model]\npath = {demo_model}\n")
    code, found = _checks()
    assert code == 0
    assert not [check for check in found.values() if check.status == Status.FAIL]
    assert "weights 92 MiB" in found["memory"].message
    expected = {"python", "packages", "llama-cpp-python", "ray", "configuration", "model", "memory"}
    expected |= {"models disk", "cache disk", "cache folder", "port", "access", "haproxy", "threads"}
    assert found.keys() == expected


def test_a_missing_model_fails_and_leaves_memory_out(tmp_path: Path) -> None:
    """The exit code is 1; checks that need the model are not guessed."""
    code, found = _checks()
    assert code == 1
    assert found["model"].status == Status.FAIL
    assert "reame pull" in str(found["model"].mend)
    assert "memory" not in found


def test_a_damaged_model_fails(tmp_path: Path) -> None:
    """A file that is no whole GGUF is told from one that is missing."""
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(16))
    _conf(tmp_path, "[model]\npath = broken.gguf\n")
    code, found = _checks()
    assert code == 1
    assert "broken.gguf" in found["model"].message


@pytest.mark.model
def test_too_little_memory_fails_with_numbers(tmp_path: Path, demo_model: Path) -> None:
    """What llama.cpp would die of is found before."""
    _conf(tmp_path, f"[model]\npath = {demo_model}\n[memory]\nmax_ram_gib = 0.1\n")
    code, found = _checks()
    assert code == 1
    assert found["memory"].status == Status.FAIL
    assert "[memory] max_ram_gib" in found["memory"].message


def test_a_wrong_configuration_is_the_last_finding(tmp_path: Path) -> None:
    """The key is named; nothing after it can be judged."""
    _conf(tmp_path, "[server]\nprot = 1\n")
    code, found = _checks()
    assert code == 1
    assert list(found)[-1] == "configuration"
    assert "port" in found["configuration"].message


def test_keys_without_effect_are_a_warning(tmp_path: Path) -> None:
    """A mirror that this version does not have is not passed over in silence."""
    path = _conf(tmp_path, "[mirror]\nurl = s3://bucket\n")
    found = _checks("--config", str(path))[1]
    assert found["configuration"].status == Status.WARN
    assert "url" in found["configuration"].message


def test_open_server_and_haproxy_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are seen in one run."""
    monkeypatch.setenv("RAY_SERVE_ENABLE_HA_PROXY", "1")
    _conf(tmp_path, "[server]\nhost = 0.0.0.0\n")
    found = _checks()[1]
    assert (found["access"].status, found["haproxy"].status) == (Status.WARN, Status.FAIL)


def test_a_broken_llama_cpp_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that ends its process does not end doctor."""
    monkeypatch.setattr(facts, "probe_llama", lambda: (None, facts.probe_problem(-4, "")))
    found = _checks()[1]
    assert found["llama-cpp-python"].status == Status.FAIL
    assert "another CPU" in found["llama-cpp-python"].message


def test_plain_lines_without_a_terminal() -> None:
    """One line for each check, its verdict first, what to do last."""
    result = runner.invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert len(lines) == len(list(doctor.run_checks(None)))
    assert all(line.split()[0] in {"ok", "warn", "fail"} for line in lines)
    assert any(" -> " in line for line in lines if line.startswith("fail"))


def test_real_probes_answer() -> None:
    """Both libraries load in this environment."""
    features, problem = PROBE_LLAMA()
    assert problem is None
    assert features
    assert PROBE_RAY() is None
