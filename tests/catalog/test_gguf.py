"""Reading the head of a GGUF: right for whole files, an error for any other, never a crash."""

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reame.catalog import check_gguf, gguf_summary
from reame.errors import ModelError, ModelInvalidError, ModelNotFoundError


def _write(path: Path, architecture: str = "llama", **keys: Any) -> Path:
    """A GGUF with these keys below the architecture's name."""
    writer = gguf.GGUFWriter(path, architecture)
    defaults = {"block_count": 4, "context_length": 256, "embedding_length": 64, "attention.head_count": 4}
    for key, value in (defaults | keys).items():
        name = f"{architecture}.{key}"
        writer.add_array(name, value) if isinstance(value, list) else writer.add_uint32(name, value)
    writer.add_tensor("token_embd.weight", np.ones((8, 64), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_summary_of_a_small_file(tiny_gguf: Path) -> None:
    """Everything that the file says comes back."""
    summary = gguf_summary(tiny_gguf)
    assert (summary.architecture, summary.name, summary.file_type) == ("llama", "tiny", "F32")
    assert (summary.n_layers, summary.n_ctx_train, summary.n_embd, summary.n_head) == (2, 256, 64, 4)
    assert summary.n_head_kv == (2, 2)
    assert (summary.key_length, summary.value_length) == (16, 16)
    assert summary.n_params == 64 * 64
    assert summary.tensor_bytes == 64 * 64 * 4
    assert summary.file_bytes == tiny_gguf.stat().st_size
    assert summary.has_chat_template
    assert summary.sliding_window is None


@pytest.mark.model
def test_summary_of_the_demo_model(demo_model: Path) -> None:
    """The real model: 134.5 million parameters, 22.5 KiB of f16 KV a token."""
    summary = gguf_summary(demo_model)
    assert summary.n_params == 134_515_008
    assert summary.file_type == "Q4_1"
    assert summary.n_head_kv == (3,) * 30
    assert summary.kv_bytes_per_token("f16", "f16") == 23_040
    assert summary.kv_bytes_per_token("q8_0", "q8_0") == 12_240
    check_gguf(demo_model)


def test_heads_per_layer(tmp_path: Path) -> None:
    """Layers without attention keep no KV, whether the file lists heads or an interval."""
    listed = gguf_summary(_write(tmp_path / "a.gguf", "lfm2", **{"attention.head_count_kv": [0, 2, 0, 2]}))
    assert listed.n_head_kv == (0, 2, 0, 2)
    keys = {"attention.head_count_kv": 2, "full_attention_interval": 4}
    spaced = gguf_summary(_write(tmp_path / "b.gguf", "qwen35", **keys))
    assert spaced.n_head_kv == (0, 0, 0, 2)
    assert spaced.kv_bytes_per_token("f16", "f16") == 2 * 2 * 16 * 2


def test_window_and_head_sizes(tmp_path: Path) -> None:
    """Head sizes of their own and a sliding window are read."""
    keys = {"attention.key_length": 32, "attention.value_length": 8, "attention.sliding_window": 128}
    summary = gguf_summary(_write(tmp_path / "a.gguf", "gemma3", **keys))
    assert (summary.key_length, summary.value_length, summary.sliding_window) == (32, 8, 128)
    assert summary.n_head_kv == (4, 4, 4, 4)


def test_metadata_that_cannot_be_served_is_named(tmp_path: Path) -> None:
    """A GGUF that is no language model says which key is missing."""
    with pytest.raises(ModelInvalidError, match=r"llama\.block_count"):
        gguf_summary(_write(tmp_path / "a.gguf", block_count=0))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"<html>", "not a GGUF"),
        (b"GG", "not a GGUF"),
        (b"GGUF", "ends within its head"),
        (b"GGUF" + struct.pack("<I", 1), "version 1"),
        (b"GGUF" + struct.pack(">I", 3), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "no tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60), "ends within its head"),
    ],
)
def test_other_files_are_named(tmp_path: Path, data: bytes, word: str) -> None:
    """What is no whole GGUF is refused with the reason."""
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelInvalidError, match=word):
        check_gguf(path)


def test_directory_and_missing_file(tmp_path: Path) -> None:
    """A folder and a file that is not there are told apart."""
    with pytest.raises(ModelInvalidError, match="directory"):
        check_gguf(tmp_path)
    with pytest.raises(ModelNotFoundError):
        check_gguf(tmp_path / "none.gguf")


def test_truncated_weights_are_seen(tiny_gguf: Path, tmp_path: Path) -> None:
    """A file that lost its end is refused though its head is whole."""
    path = tmp_path / "x.gguf"
    path.write_bytes(tiny_gguf.read_bytes()[:-1000])
    with pytest.raises(ModelInvalidError, match="not downloaded completely"):
        check_gguf(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_damage_never_crashes_the_reader(tiny_gguf: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Any changed or cut file is read or refused as a model error."""
    content = bytearray(tiny_gguf.read_bytes())
    head = min(len(content), 1800)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, head - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "x.gguf"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    for look in (check_gguf, gguf_summary):
        try:
            look(path)
        except ModelError:
            continue
