"""Tiny vocabularies in the manner of Llama 2, written as GGUF files that llama.cpp loads."""

from __future__ import annotations

import string
from pathlib import Path

from gguf import GGUFWriter, TokenType
from hypothesis import strategies as st

BOS, EOS = 1, 2
CONTROL = ("[INST]", "[/INST]")
USER_DEFINED = ("<think>", "</think>")

DEMO_TEXT = st.text(
    st.characters(codec="utf-8", max_codepoint=0x3FFFF, exclude_characters="\x04\x06\x13\x14\x16\x1d")
)
"""Any text that SmolLM2 can express: its vocabulary lacks a few bytes, which llama.cpp drops."""


def write_vocab(
    path: Path,
    *,
    name: str = "tiny",
    add_bos: bool = True,
    control: tuple[str, ...] = CONTROL,
    chat_template: str | None = None,
) -> Path:
    """Write a sentencepiece vocabulary of letters, bytes and a few special tokens."""
    tokens = [("<unk>", TokenType.UNKNOWN), ("<s>", TokenType.CONTROL), ("</s>", TokenType.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)]
    tokens += [(char, TokenType.NORMAL) for char in string.printable.strip() + "\u2581"]
    tokens += [("\u2581the", TokenType.NORMAL), ("th", TokenType.NORMAL), ("\u2581th", TokenType.NORMAL)]
    tokens += [(text, TokenType.CONTROL) for text in control]
    tokens += [(text, TokenType.USER_DEFINED) for text in USER_DEFINED]
    writer = GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(add_bos)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
