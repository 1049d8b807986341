"""Reads the head of a GGUF file: metadata and tensor table, without the weights.

The reader of the ``gguf`` package makes an object of every array element: 2.6 s for a vocabulary
of 49k tokens. Nothing here needs the vocabulary, so this one steps over long arrays.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reame.errors import ModelInvalidError, ModelNotFoundError

MAGIC = b"GGUF"
SUPPORTED_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_KEPT = 4096  # longer arrays are vocabularies
_MAX_DIMS = 4
_STRING, _ARRAY = 8, 9
# The format's value types by number; 8 is a string, 9 an array.
_SCALARS = {
    number: struct.Struct("<" + code)
    for number, code in {
        0: "B",
        1: "b",
        2: "H",
        3: "h",
        4: "I",
        5: "i",
        6: "f",
        7: "?",
        10: "Q",
        11: "q",
        12: "d",
    }.items()
}
_U32, _U64 = _SCALARS[4], _SCALARS[10]

Value = int | float | bool | str | tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One row of the tensor table. ``offset`` counts from the start of the data."""

    name: str
    dims: tuple[int, ...]
    type_number: int
    offset: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata (without long arrays and arrays of strings), tensors, and where their data begins."""

    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    data_offset: int
    file_bytes: int


def read_header(path: Path) -> GgufHeader:
    """The head of a GGUF.

    Raises:
        ModelNotFoundError: no such file.
        ModelInvalidError: not a GGUF, or one that ends within its head.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size == 0:
                raise ModelInvalidError(f"{path} is empty; delete it and fetch the model again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data, path).header()
    except FileNotFoundError as error:
        raise ModelNotFoundError(f"no model file {path}") from error
    except IsADirectoryError as error:
        raise ModelInvalidError(f"{path} is a directory; name a .gguf file in it") from error
    except OSError as error:
        raise ModelInvalidError(f"cannot read {path}: {error.strerror}") from error


class _Reader:
    """A position in the mapped file; every step checks that the file goes that far."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._path = path
        self._at = 0

    def header(self) -> GgufHeader:
        if self._data[:4] != MAGIC:
            raise ModelInvalidError(f"{self._path} is not a GGUF: it begins with {bytes(self._data[:4])!r}")
        self._skip(4)
        self._check_version(self._number(_U32))
        num_tensors, num_values = self._number(_U64), self._number(_U64)
        metadata = {name: value for name, value in self._pairs(num_values) if value is not None}
        tensors = tuple(self._tensor() for _ in range(num_tensors))
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            raise self._damaged(f"an alignment of {alignment!r} is no power of two")
        data_offset = -(-self._at // alignment) * alignment
        return GgufHeader(metadata, tensors, data_offset, len(self._data))

    def _check_version(self, version: int) -> None:
        if version in SUPPORTED_VERSIONS:
            return
        if int.from_bytes(version.to_bytes(4, "little"), "big") in SUPPORTED_VERSIONS:
            raise ModelInvalidError(
                f"{self._path} was made for big-endian machines; get a little-endian GGUF"
            )
        raise ModelInvalidError(f"{self._path} has GGUF version {version}; versions 2 and 3 can be read")

    def _pairs(self, count: int) -> list[tuple[str, Value | None]]:
        pairs = []
        for _ in range(count):
            name = self._string()
            pairs.append((name, self._value(self._number(_U32))))
        return pairs

    def _tensor(self) -> Tensor:
        name = self._string()
        num_dims = self._number(_U32)
        if num_dims > _MAX_DIMS:
            raise self._damaged(f"tensor {name!r} has {num_dims} dimensions")
        dims = tuple(self._number(_U64) for _ in range(num_dims))
        return Tensor(name, dims, self._number(_U32), self._number(_U64))

    def _value(self, kind: int) -> Value | None:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._scalar(kind)

    def _array(self) -> tuple[int | float | bool, ...] | None:
        kind, count = self._number(_U32), self._number(_U64)
        if kind == _STRING:
            for _ in range(count):
                self._skip(self._number(_U64))
            return None
        width = self._scalar_type(kind).size
        if count > _MAX_KEPT:
            self._skip(count * width)
            return None
        return tuple(self._scalar(kind) for _ in range(count))

    def _scalar(self, kind: int) -> int | float | bool:
        return self._unpack(self._scalar_type(kind))

    def _scalar_type(self, kind: int) -> struct.Struct:
        if kind not in _SCALARS:
            raise self._damaged(f"value type {kind} does not exist")
        return _SCALARS[kind]

    def _string(self) -> str:
        length = self._number(_U64)
        start = self._at
        self._skip(length)
        return self._data[start : self._at].decode("utf-8", errors="replace")

    def _number(self, form: struct.Struct) -> int:
        return int(self._unpack(form))

    def _unpack(self, form: struct.Struct) -> int | float | bool:
        start = self._at
        self._skip(form.size)
        return form.unpack_from(self._data, start)[0]  # type: ignore[no-any-return]

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise self._damaged("it ends within its head")

    def _damaged(self, reason: str) -> ModelInvalidError:
        return ModelInvalidError(f"{self._path} is damaged: {reason}; delete it and fetch the model again")
