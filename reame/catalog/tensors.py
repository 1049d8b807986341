"""Sizes of GGUF tensors, by the type table of the ``gguf`` package."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from reame.catalog.header import GgufHeader, Tensor

KV_TYPE_BYTES: Mapping[str, tuple[int, int]] = {
    "f32": (1, 4),
    "f16": (1, 2),
    "q8_0": (32, 34),
    "q4_0": (32, 18),
}
"""Values and bytes of one storage block of each KV type."""


@cache
def type_sizes() -> Mapping[int, tuple[int, int]]:
    """Values and bytes of one storage block of each tensor type number."""
    from gguf.constants import GGML_QUANT_SIZES  # imports numpy: only when a model is looked at

    return {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}


@cache
def file_type_names() -> Mapping[int, str]:
    """Names of ``general.file_type``: ``Q4_K_M``."""
    from gguf.constants import LlamaFileType

    return {int(kind): kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in LlamaFileType}


def num_elements(tensor: Tensor) -> int:
    """Values in a tensor."""
    return math.prod(tensor.dims)


def tensor_bytes(tensor: Tensor) -> int | None:
    """Bytes of a tensor; ``None`` for a type newer than the table.

    Raises:
        ValueError: its rows do not divide into the type's blocks.
    """
    sizes = type_sizes().get(tensor.type_number)
    if sizes is None:
        return None
    block, width = sizes
    if tensor.dims and tensor.dims[0] % block:
        raise ValueError(f"rows of {tensor.dims[0]} values do not divide into blocks of {block}")
    return num_elements(tensor) // block * width


def first_fault(header: GgufHeader) -> str | None:
    """What is wrong with the tensor table, if anything: a tensor that the file does not hold."""
    if not header.tensors:
        return "it holds no tensors (a vocabulary alone cannot answer)"
    for tensor in header.tensors:
        try:
            size = tensor_bytes(tensor)
        except ValueError as error:
            return f"tensor {tensor.name!r}: {error}"
        end = header.data_offset + tensor.offset + (size or 0)
        if end > header.file_bytes:
            return (
                f"tensor {tensor.name!r} ends at byte {end}, but the file has only {header.file_bytes}: "
                "it was not downloaded completely"
            )
    return None
