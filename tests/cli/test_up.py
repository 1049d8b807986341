"""What ``reame up`` decides and prints before it serves."""

from pathlib import Path

import pytest

from reame.cli.run import settings_for
from reame.cli.up import Address, check_replicas_fit, greeting
from reame.config import load_settings
from reame.errors import ModelError


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("node-1", "http://node-1:80"),
    ],
)
def test_url_that_this_machine_can_open(host: str, url: str) -> None:
    """An address that means all interfaces becomes loopback; IPv6 stands in brackets."""
    assert Address(host, 80).url == url


def test_greeting_never_shows_a_key() -> None:
    """The line to try names a variable instead."""
    settings = load_settings(None, {"REAME_SERVER__API_KEY": "hunter2"})
    text = greeting(Address("127.0.0.1", 80), settings)
    assert "hunter2" not in text
    assert "Authorization: Bearer" in text
    assert "Authorization" not in greeting(Address("127.0.0.1", 80), load_settings(None, {}))


@pytest.mark.model
def test_replicas_must_fit_together(demo_model: Path) -> None:
    """One engine fits into a GiB, twenty do not; the error has both numbers."""
    settings = load_settings(None, {"REAME_MODEL__PATH": str(demo_model), "REAME_MEMORY__MAX_RAM_GIB": "1"})
    check_replicas_fit(settings, 1)
    with pytest.raises(ModelError, match=r"20 replicas do not fit: .*1.00 GiB \(\[memory\] max_ram_gib\)"):
        check_replicas_fit(settings, 20)


def test_another_model_drops_what_was_said_of_the_configured_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``reame run`` keeps memory and threads, but not the other model's context or template."""
    monkeypatch.chdir(tmp_path)
    environ = {
        "REAME_MODEL__CONTEXT_LENGTH": "4096",
        "REAME_MODEL__CHAT_TEMPLATE": "chatml",
        "REAME_MODEL__THREADS": "3",
    }
    settings = load_settings(None, environ)
    by_name, by_path = settings_for(settings, "qwen3-0.6b"), settings_for(settings, "./x.gguf")
    assert (by_name.model.path, by_path.model.path) == ("qwen3-0.6b", str(tmp_path / "x.gguf"))
    assert (by_name.model.context_length, by_name.model.chat_template, by_name.model.threads) == (
        None,
        None,
        3,
    )
