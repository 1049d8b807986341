"""What a model file says of itself, as far as serving needs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reame.catalog.header import GgufHeader, Value, read_header
from reame.catalog.tensors import KV_TYPE_BYTES, file_type_names, first_fault, num_elements, tensor_bytes
from reame.errors import ModelInvalidError


@dataclass(frozen=True, slots=True)
class GgufSummary:
    """A model's shape. ``n_head_kv`` has one entry a layer; 0 where a layer keeps no KV.

    ``key_length`` and ``value_length`` are values per head. ``sliding_window`` is in tokens.
    """

    architecture: str
    name: str | None
    file_type: str | None
    n_layers: int
    n_ctx_train: int
    n_embd: int
    n_head: int
    n_head_kv: tuple[int, ...]
    key_length: int
    value_length: int
    n_params: int
    file_bytes: int
    tensor_bytes: int
    has_chat_template: bool
    sliding_window: int | None

    def kv_bytes_per_token(self, type_k: str, type_v: str) -> int:
        """Bytes of one token's KV over all layers; windowed layers count in full.

        Raises:
            KeyError: not a KV type (f32, f16, q8_0, q4_0).
        """
        heads = sum(self.n_head_kv)
        return _stored(heads * self.key_length, type_k) + _stored(heads * self.value_length, type_v)


def gguf_summary(path: Path) -> GgufSummary:
    """Describe a model file from its head (milliseconds, whatever its size).

    Raises:
        ModelNotFoundError: no such file.
        ModelInvalidError: damaged, or not a model that generates text.
    """
    header = read_header(path)
    return _Metadata(header, path).summary()


def check_gguf(path: Path) -> None:
    """Make sure that a file is a whole GGUF: its head is sound and all tensors are within it.

    Raises:
        ModelNotFoundError: no such file.
        ModelInvalidError: it is not; says why.
    """
    fault = first_fault(read_header(path))
    if fault is not None:
        raise ModelInvalidError(f"{path} is damaged: {fault}; delete it and fetch the model again")


def _stored(values: int, kv_type: str) -> int:
    block, width = KV_TYPE_BYTES[kv_type]
    return -(-values * width // block)


class _Metadata:
    """Looks keys up below the architecture's name."""

    def __init__(self, header: GgufHeader, path: Path) -> None:
        self._header = header
        self._path = path
        architecture = header.metadata.get("general.architecture")
        if not isinstance(architecture, str) or not architecture:
            raise self._unusable("general.architecture")
        self._architecture = architecture

    def summary(self) -> GgufSummary:
        header = self._header
        n_embd, n_head = self._count("embedding_length"), max(self._per_layer("attention.head_count"))
        head_size = n_embd // n_head if n_head else 0
        name = header.metadata.get("general.name")
        template = header.metadata.get("tokenizer.chat_template")
        file_type = header.metadata.get("general.file_type")
        return GgufSummary(
            architecture=self._architecture,
            name=name if isinstance(name, str) and name else None,
            file_type=file_type_names().get(file_type) if isinstance(file_type, int) else None,
            n_layers=self._count("block_count"),
            n_ctx_train=self._count("context_length"),
            n_embd=n_embd,
            n_head=n_head,
            n_head_kv=self._kv_heads(),
            key_length=self._optional("attention.key_length") or head_size,
            value_length=self._optional("attention.value_length") or head_size,
            n_params=sum(num_elements(tensor) for tensor in header.tensors),
            file_bytes=header.file_bytes,
            tensor_bytes=self._tensor_bytes(),
            has_chat_template=isinstance(template, str) and bool(template),
            sliding_window=self._optional("attention.sliding_window") or None,
        )

    def _kv_heads(self) -> tuple[int, ...]:
        """KV heads of each layer. Hybrids name only every n-th layer as attention, or give zeros."""
        heads = self._per_layer("attention.head_count_kv", default="attention.head_count")
        interval = self._optional("full_attention_interval")
        if not interval:
            return heads
        return tuple(count if (layer + 1) % interval == 0 else 0 for layer, count in enumerate(heads))

    def _per_layer(self, key: str, default: str | None = None) -> tuple[int, ...]:
        layers = self._count("block_count")
        value = self._get(key)
        if value is None and default is not None:
            return self._per_layer(default)
        if isinstance(value, tuple) and len(value) == layers:
            return tuple(int(count) for count in value)
        if isinstance(value, int):
            return (value,) * layers
        raise self._unusable(f"{self._architecture}.{key}")

    def _count(self, key: str) -> int:
        value = self._get(key)
        if not isinstance(value, int) or value <= 0:
            raise self._unusable(f"{self._architecture}.{key}")
        return value

    def _optional(self, key: str) -> int | None:
        value = self._get(key)
        return max(int(v) for v in value) if isinstance(value, tuple) and value else _int_or_none(value)

    def _get(self, key: str) -> Value | None:
        return self._header.metadata.get(f"{self._architecture}.{key}")

    def _tensor_bytes(self) -> int:
        """Exact for known types; with a newer one among them, all data of the file."""
        try:
            sizes = [tensor_bytes(tensor) for tensor in self._header.tensors]
        except ValueError as error:
            raise ModelInvalidError(f"{self._path} is damaged: {error}") from error
        known = [size for size in sizes if size is not None]
        in_file = self._header.file_bytes - self._header.data_offset
        return sum(known) if len(known) == len(sizes) else max(in_file, 0)

    def _unusable(self, key: str) -> ModelInvalidError:
        return ModelInvalidError(f"{self._path} cannot be served: its metadata has no usable {key}")


def _int_or_none(value: Value | None) -> int | None:
    return value if isinstance(value, int) else None
