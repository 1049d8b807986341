"""Which chat template is used, and what is said about it."""

from pathlib import Path

import pytest

from reame.errors import ConfigError
from reame.prompt import PromptEncoder, TemplateOrigin
from reame.prompt.sources import CHATML, PLAIN, choose_template

from .vocab import BOS, write_vocab

HELLO = [{"role": "user", "content": "the"}]


def test_configured_template_wins(tmp_path: Path) -> None:
    """The configuration may hold a template, name a file that holds one, or name one of ours."""
    file = tmp_path / "chat.jinja"
    file.write_text("{{ 'from file' }}")
    for configured, text in (("{{ x }}", "{{ x }}"), (str(file), "{{ 'from file' }}"), ("chatml", CHATML)):
        chosen = choose_template(configured, "{{ gguf }}", ())
        assert (chosen.text, chosen.origin) == (text, TemplateOrigin.CONFIG)


def test_configured_file_that_is_missing_is_named(tmp_path: Path) -> None:
    """A path without a file is an error that names key and path."""
    with pytest.raises(ConfigError, match=r"chat_template: .*none\.jinja"):
        choose_template(str(tmp_path / "none.jinja"), None, ())


@pytest.mark.parametrize(
    ("control_texts", "text"), [(("<|im_start|>", "<|im_end|>"), CHATML), (("<s>", "</s>"), PLAIN)]
)
def test_fallback_suits_the_vocabulary_and_warns(
    control_texts: tuple[str, ...], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a template, ChatML is used only where its tokens exist, and never in silence."""
    assert choose_template(None, None, control_texts).text == text
    assert "no chat template" in caplog.text


def test_gguf_without_a_template_still_chats(tmp_path: Path) -> None:
    """A base model answers in a plain form, with its BOS."""
    encoder = PromptEncoder.from_gguf(write_vocab(tmp_path / "base.gguf"))
    prompt = encoder.chat(HELLO)
    assert encoder.origin is TemplateOrigin.PLAIN
    assert prompt.text == "User: the\n\nAssistant:"
    assert (prompt.ids[0], prompt.ids.count(BOS)) == (BOS, 1)


def test_template_of_the_gguf_is_used(tmp_path: Path) -> None:
    """The template in the file writes the prompt unless the configuration replaces it."""
    path = write_vocab(tmp_path / "own.gguf", chat_template="[INST]{{ messages[0].content }}[/INST]")
    assert PromptEncoder.from_gguf(path).chat(HELLO).text == "[INST]the[/INST]"
    assert PromptEncoder.from_gguf(path, "{{ 'else' }}").chat(HELLO).text == "else"
