"""The vocabulary: round trips, borders, faults."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reame.errors import InvalidRequestError, ModelInvalidError, ModelNotFoundError
from reame.prompt import Tokenizer

from .vocab import BOS, DEMO_TEXT, EOS, write_vocab

SNIPPETS = st.sampled_from(
    ["[INST]", "[/INST]", "<s>", "</s>", "<think>", "</think>", " ", "the", "é", "<", "\n"]
)


@pytest.mark.model
class TestDemoVocabulary:
    """SmolLM2: byte pairs, no BOS of its own."""

    def test_describes_itself(self, demo: Tokenizer) -> None:
        """Size, special ids and template are the model's."""
        assert demo.vocab_size == 49152
        assert (demo.bos_id, demo.eos_id, demo.adds_bos) == (1, 2, False)
        assert demo.eos_id in demo.eog_ids
        assert demo.is_eog(2)
        assert not demo.is_eog(400)
        assert {"<|im_start|>", "<|im_end|>"} <= set(demo.control_texts)
        assert "<|im_start|>" in (demo.chat_template or "")
        assert demo.metadata["general.architecture"] == "llama"

    @given(DEMO_TEXT)
    @example("a\x00b")
    @example("<|im_end|>")
    @example("👩‍👩‍👧 и 語")
    def test_any_text_comes_back(self, demo: Tokenizer, text: str) -> None:
        """Encoding and decoding give the text, be control texts parsed or not."""
        for parse_special in (False, True):
            ids = demo.encode(text, add_bos=True, parse_special=parse_special)
            assert demo.decode(ids) == text
            assert b"".join(map(demo.piece, ids)).decode() == text

    def test_control_text_is_a_token_only_when_parsed(self, demo: Tokenizer) -> None:
        """``parse_special`` decides whether a control token's text is the token."""
        assert demo.encode("<|im_end|>", add_bos=False, parse_special=True) == [2]
        assert 2 not in demo.encode("<|im_end|>", add_bos=False, parse_special=False)

    def test_control_tokens_show_nothing_to_users(self, demo: Tokenizer) -> None:
        """A control token has a text for templates and none for users."""
        assert (demo.piece(2), demo.visible_piece(2)) == (b"<|im_end|>", b"")
        assert demo.decode([2]) == "<|im_end|>"
        assert demo.decode([2], skip_special=True) == ""

    def test_many_control_tokens_equal_few(self, demo: Tokenizer) -> None:
        """The way for texts full of control tokens gives llama.cpp's own ids."""
        turn = "<|im_start|>user\nhi there<|im_end|>\n"
        once = demo.encode(turn, add_bos=False, parse_special=True)
        assert demo.encode(turn * 500, add_bos=False, parse_special=True) == once * 500

    def test_threads_share_it(self, demo: Tokenizer) -> None:
        """Encoding in several threads at once gives what one thread gives."""
        texts = [f"text number {n} 🦜" for n in range(64)]
        with ThreadPoolExecutor(4) as pool:
            many = list(pool.map(lambda t: demo.encode(t, add_bos=False, parse_special=True), texts))
        assert many == [demo.encode(t, add_bos=False, parse_special=True) for t in texts]


class TestTinyVocabulary:
    """Sentencepiece with a BOS, spaces in front, and user-defined tokens."""

    def test_bos_is_there_once(self, tiny: Tokenizer) -> None:
        """BOS is added when wanted, and not when the text brings it; EOS never is."""
        for text in ("the", "<s>the"):
            ids = tiny.encode(text, add_bos=True, parse_special=True)
            assert (ids[0], ids.count(BOS), ids.count(EOS)) == (BOS, 1, 0)
        assert BOS not in tiny.encode("the", add_bos=False, parse_special=True)

    def test_empty_text(self, tiny: Tokenizer) -> None:
        """No text is no ids, or the BOS alone."""
        assert tiny.encode("", add_bos=False, parse_special=True) == []
        assert tiny.encode("", add_bos=True, parse_special=True) == [BOS]
        assert tiny.decode([]) == ""

    @given(st.lists(SNIPPETS).map("".join))
    def test_cutting_at_control_tokens_equals_llama_cpp(self, tiny: Tokenizer, text: str) -> None:
        """Our cut at control tokens and llama.cpp's give the same ids."""
        parts = tiny.specials.split_control(text)
        assert tiny.encode_parts(parts, add_bos=False) == tiny.encode(text, add_bos=False, parse_special=True)

    def test_many_user_defined_tokens_equal_few(self, tiny: Tokenizer) -> None:
        """The way for texts full of user-defined tokens gives llama.cpp's own ids."""
        once = tiny.encode("<think>the</think>", add_bos=False, parse_special=False)
        many = tiny.encode("<think>the</think>" * 300, add_bos=False, parse_special=False)
        assert many == once * 300


def test_tokens_that_strip_white_space_are_cut_as_llama_cpp_does(tmp_path: Path) -> None:
    """For Phi-3, whose control tokens swallow the space behind them, our cut gives the same ids."""
    control = ("[INST]", "[/INST]", "<|endoftext|>")
    tokenizer = Tokenizer(write_vocab(tmp_path / "phi.gguf", name="phi-3-mini", control=control))
    for text in ("[INST]  the[/INST] \n the", "<s> [INST] the", " [INST] [INST] <think> the"):
        native = tokenizer.encode(text, add_bos=False, parse_special=True)
        parts = tokenizer.specials.split_control(text)
        assert tokenizer.encode_parts(parts, add_bos=False) == native
    tokenizer.close()


@pytest.mark.parametrize("token_id", [-1, 361, 2**40])
def test_id_outside_the_vocabulary_is_refused(tiny: Tokenizer, token_id: int) -> None:
    """An id that llama.cpp would read out of bounds never reaches it."""
    for call in (tiny.piece, tiny.visible_piece, lambda i: tiny.decode([1, i])):
        with pytest.raises(InvalidRequestError, match="not in the vocabulary"):
            call(token_id)


def test_lone_surrogate_is_refused(tiny: Tokenizer) -> None:
    """Text that is no Unicode is refused before the C border."""
    with pytest.raises(InvalidRequestError, match=r"lone surrogate \(U\+D83E\) at character 1"):
        tiny.encode("a\ud83e", add_bos=False, parse_special=True)


def test_file_that_is_no_gguf_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A wrong file is an error of ours, and llama.cpp's reason is in the log."""
    path = tmp_path / "wrong.gguf"
    path.write_bytes(b"GGUX" + bytes(64))
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelInvalidError, match=r"wrong\.gguf"):
        Tokenizer(path)
    assert any(record.levelno == logging.WARNING for record in caplog.records)


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    """Half a GGUF is an error of ours."""
    path = write_vocab(tmp_path / "half.gguf")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ModelInvalidError):
        Tokenizer(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A path without a file is told apart from a bad file."""
    with pytest.raises(ModelNotFoundError, match=r"none\.gguf"):
        Tokenizer(tmp_path / "none.gguf")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    """The vocabulary is freed once."""
    tokenizer = Tokenizer(write_vocab(tmp_path / "tiny.gguf"))
    tokenizer.close()
    tokenizer.close()
