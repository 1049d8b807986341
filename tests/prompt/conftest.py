"""The prompt side's parts: the demo model's vocabulary and a tiny sentencepiece one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reame.prompt import ChatTemplate, PromptEncoder, Tokenizer

from .vocab import write_vocab


@pytest.fixture(scope="session")
def demo(demo_model: Path) -> Iterator[Tokenizer]:
    """SmolLM2's vocabulary."""
    tokenizer = Tokenizer(demo_model)
    yield tokenizer
    tokenizer.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokenizer]:
    """A sentencepiece vocabulary that wants a BOS."""
    tokenizer = Tokenizer(write_vocab(tmp_path_factory.mktemp("vocab") / "tiny.gguf"))
    yield tokenizer
    tokenizer.close()


@pytest.fixture(scope="session")
def encoder_for() -> Callable[[Tokenizer, str], PromptEncoder]:
    """Make an encoder of a vocabulary and a template's text."""

    def make(tokenizer: Tokenizer, source: str) -> PromptEncoder:
        bos, eos = (tokenizer.text_of(i) for i in (tokenizer.bos_id, tokenizer.eos_id))
        return PromptEncoder(tokenizer, ChatTemplate(source, bos_token=bos, eos_token=eos))

    return make
