"""Settings: defaults, files, the environment, and errors that say what to change."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reame.config import Settings, load_settings
from reame.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]

CPP_CONF = """\
[logging]
level = info
[server]
host = 0.0.0.0
port = 8080
threads = 2
max_concurrent_requests = 10
timeout_seconds = 300
max_request_size_mb = 10
enable_cors = true
enable_metrics = true
enable_request_logging = true
api_key =
model_id = reame-30b
parallel = 2
[model]
path = models/model-30b.Q4_K_M.gguf
context_length = 8192
threads = 14
ubatch = 256
[speculative]
enabled = true
mode = model
draft_model_path = models/draft-1.5b.Q8_0.gguf
draft_tokens = 16
min_acceptance = 0.3
[cache]
directory = .reame-cache
max_size_mb = 20480
compress = true
block_tokens = 256
[memory]
use_mmap = true
use_mlock = false
kv_cache_type = q8_0
max_ram_gib = 80
[arca]
remote = 127.0.0.1:6420
"""


def _load(folder: Path, text: str, **environ: str) -> Settings:
    path = folder / "reame.conf"
    path.write_text(text)
    return load_settings(path, environ)


def _refused(folder: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        _load(folder, text, **environ)
    return caught.value.message


def test_defaults_need_no_file() -> None:
    """Without a file and variables every key has its documented default."""
    settings = load_settings(None, {})
    assert settings.server.host == "127.0.0.1"
    assert settings.server.port == 8000
    assert settings.server.max_concurrent_requests == 16
    assert settings.model.context_length is None
    assert settings.memory.kv_cache_type == "f16"
    assert settings.source is None
    assert settings.notices() == ()
    assert settings == Settings()


def test_cpp_reame_file_loads_unchanged(tmp_path: Path) -> None:
    """A configuration of the C++ Reame means here what it meant there."""
    settings = _load(tmp_path, CPP_CONF)
    assert settings.model.path == "models/model-30b.Q4_K_M.gguf"
    assert settings.model.context_length == 8192
    assert settings.model.threads == 14
    assert settings.engine.ubatch == 256
    assert settings.server.cors_origins == ("*",)
    assert settings.server.api_key is None
    assert settings.server.timeout_seconds == 300
    assert settings.memory.max_ram_gib == 80
    assert settings.cache.directory == tmp_path / ".reame-cache"
    assert settings.speculative.draft_model_path == tmp_path / "models/draft-1.5b.Q8_0.gguf"
    assert any(line.startswith("[arca] remote:") for line in settings.notices())


def test_bare_model_path(tmp_path: Path) -> None:
    """One line without a section is a configuration."""
    assert _load(tmp_path, "model_path = ./models/x.gguf\n").model.path == "./models/x.gguf"


def test_two_names_of_one_key_are_refused(tmp_path: Path) -> None:
    """An old and a new name of one key cannot both decide."""
    assert "line 4" in _refused(tmp_path, "[server]\nenable_cors = true\n\ncors_origins = *\n")


@pytest.mark.parametrize(("value", "origins"), [("false", ()), ("on", ("*",))])
def test_enable_cors(tmp_path: Path, value: str, origins: tuple[str, ...]) -> None:
    """The C++ Reame's switch opens to every origin or to none."""
    assert _load(tmp_path, f"[server]\nenable_cors = {value}\n").server.cors_origins == origins


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("[server]\nprot = 1\n", "[server] port"),
        ("[server]\nkv_cache_type = f16\n", "[memory] kv_cache_type"),
        ("[sever]\nport = 1\n", "[server] port"),
        ("modelpath = x\n", "model_path"),
        ("[model]\ncontextlength = 1\n", "[model] context_length"),
    ],
)
def test_unknown_key_names_line_and_nearest(tmp_path: Path, text: str, near: str) -> None:
    """An unknown key is an error with its line and the key that was probably meant."""
    message = _refused(tmp_path, text)
    line = text.count("\n")
    assert f"reame.conf, line {line}: unknown key" in message
    assert f"did you mean {near}?" in message


def test_far_off_key_gets_no_hint(tmp_path: Path) -> None:
    """A hint that fits nothing would mislead."""
    assert "did you mean" not in _refused(tmp_path, "[zzz]\nqqq = 1\n")


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("[server]\nport = 80x", "a valid integer"),
        ("[server]\nport = 70000", "less than or equal to 65535"),
        ("[memory]\nuse_mmap = maybe", "true, yes, on, 1, false, no, off or 0"),
        ("[memory]\nkv_cache_type = f17", "'f16', 'q8_0' or 'q4_0'"),
        ("[engine]\nbatch_tokens = 100", "a multiple of 64"),
        ("[server]\ntimeout_seconds = nan", "a finite number"),
        ("[server]\nport = 8000 # default", "a comment needs a line of its own"),
    ],
)
def test_bad_value_names_key_value_line_and_range(tmp_path: Path, line: str, accepted: str) -> None:
    """A refused value is named with its line and with what would be accepted."""
    message = _refused(tmp_path, line + "\n")
    assert "line 2: [" in message
    assert line.split("= ")[1] in message
    assert accepted in message


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    """Two bad values need one round, not two."""
    message = _refused(tmp_path, "[server]\nport = x\nparallel = y\n")
    assert [line.split(": ")[1].split(" =")[0] for line in message.split("\n")] == [
        "[server] port",
        "[server] parallel",
    ]


def test_environment_overrides_the_file(tmp_path: Path) -> None:
    """A variable wins over the file, also over another name of its key."""
    text = "[server]\nport = 1\nenable_cors = true\n"
    settings = _load(
        tmp_path, text, REAME_SERVER__PORT="2", REAME_SERVER__CORS_ORIGINS="https://a, https://b"
    )
    assert settings.server.port == 2
    assert settings.server.cors_origins == ("https://a", "https://b")


def test_environment_errors_name_the_variable(tmp_path: Path) -> None:
    """A wrong variable is named; others of the prefix are not overrides."""
    assert "REAME_SERVER__PORT: [server] port = x" in _refused(tmp_path, "", REAME_SERVER__PORT="x")
    assert "REAME_SERVER__PROT: unknown key" in _refused(tmp_path, "", REAME_SERVER__PROT="1")
    assert _load(tmp_path, "", REAME_CONFIG="x", REAME_MODELS_DIR="y").written == ()


def test_secrets_never_show(tmp_path: Path) -> None:
    """Keys appear neither in a dump nor in an error."""
    settings = _load(tmp_path, "[server]\napi_key = hunter2\n[mirror]\nstorage_options = hunter3\n")
    assert "hunter" not in repr(settings)
    assert "hunter" not in "".join(settings.notices())


def test_notices_name_what_has_no_effect(tmp_path: Path) -> None:
    """Only keys that the user set and that change nothing are named."""
    settings = _load(tmp_path, "[mirror]\nurl = s3://b\n[server]\nport = 1\n")
    assert settings.notices() == (
        "[mirror] url: the mirror is not part of this version; the key has no effect",
    )


def test_paths_start_at_the_file(tmp_path: Path) -> None:
    """Relative paths resolve from the file's folder; templates' texts and names are no paths."""
    text = "[server]\napi_keys_file = keys.txt\n[model]\nchat_template = t.jinja\n"
    settings = _load(tmp_path, text)
    assert settings.server.api_keys_file == tmp_path / "keys.txt"
    assert settings.model.chat_template == str(tmp_path / "t.jinja")
    assert settings.base == tmp_path
    assert _load(tmp_path, "[model]\nchat_template = chatml\n").model.chat_template == "chatml"
    assert _load(tmp_path, "[model]\nchat_template = {{ x }}\n").model.chat_template == "{{ x }}"


def test_words_for_unset(tmp_path: Path) -> None:
    """``auto``, nothing and 0 mean what the table says."""
    text = "[model]\ncontext_length = auto\nthreads =\nname =\n[memory]\nmax_ram_gib = 0\n"
    text += "[server]\ntimeout_seconds = 0\n"
    settings = _load(tmp_path, text)
    assert settings.model.context_length is settings.model.threads is settings.model.name is None
    assert settings.memory.max_ram_gib is None
    assert settings.server.timeout_seconds == 0


def test_empty_cache_directory_switches_the_cache_off(tmp_path: Path) -> None:
    """As in the C++ Reame, no directory means no cache."""
    assert _load(tmp_path, "[cache]\ndirectory =\n").cache.enabled is False


def test_concurrency_follows_parallel(tmp_path: Path) -> None:
    """Four requests may run or wait for each slot, unless the key says otherwise."""
    assert _load(tmp_path, "[server]\nparallel = 3\n").server.max_concurrent_requests == 12
    text = "[server]\nparallel = 3\nmax_concurrent_requests = 5\n"
    assert _load(tmp_path, text).server.max_concurrent_requests == 5


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that cannot be read is an error, not a silent default."""
    with pytest.raises(ConfigError, match=r"none\.conf"):
        load_settings(tmp_path / "none.conf", {})


def test_settings_are_frozen_and_cross_processes(tmp_path: Path) -> None:
    """Nobody changes settings, and a replica gets the same ones."""
    settings = _load(tmp_path, CPP_CONF)
    with pytest.raises(ValidationError):
        settings.server.port = 1  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_project_file_states_the_defaults(tmp_path: Path) -> None:
    """The project's reame.conf loads, and its commented keys are all keys with their defaults."""
    text = (ROOT / "reame.conf").read_text()
    project = load_settings(ROOT / "reame.conf", {})
    assert project.notices() == ()
    lines = [line.removeprefix("# ") for line in text.split("\n") if line.startswith(("# ", "["))]
    keys = [line for line in lines if line.startswith("[") or _is_setting(line)]
    full = _load(tmp_path, "\n".join(keys))
    defaults = Settings()
    for section in Settings.model_fields:
        if section in ("source", "written"):
            continue
        ours, theirs = getattr(full, section), getattr(defaults, section)
        expected = set(type(ours).model_fields) - ({"path"} if section == "model" else set())
        assert ours.model_fields_set >= expected, section
        if section == "cache":
            ours = ours.model_copy(update={"directory": theirs.directory})
        assert ours == theirs, section
    assert project.model.path == defaults.model.path


def _is_setting(line: str) -> bool:
    key, equals, _ = line.partition(" =")
    return bool(equals) and key.replace("_", "").isalnum() and key.islower()


@given(st.text(max_size=200))
def test_any_value_is_taken_or_refused_by_name(value: str) -> None:
    """Whatever a variable holds, the answer is settings or an error that names the variable."""
    names = (
        "REAME_SERVER__PORT",
        "REAME_MEMORY__MAX_RAM_GIB",
        "REAME_SERVER__ENABLE_CORS",
        "REAME_MODEL__PATH",
    )
    for name in names:
        message = name
        try:
            load_settings(None, {name: value})
        except ConfigError as error:
            message = error.message
        assert name in message
