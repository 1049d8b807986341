"""Block arithmetic: where prefill may be cut. Pure; standard library only.

Measured on x86 with flash attention on: prefill cut at any multiples of 64 gives the same
bits as prefill in one piece, and a last partial block computed on its own keeps its bits too.
Shorter chunks take another kernel and differ. So every chunk but the last is made of whole blocks.
"""

from __future__ import annotations

BLOCK_TOKENS = 64
"""Tokens of one block."""


def full_block_end(num_tokens: int, *, block_tokens: int = BLOCK_TOKENS) -> int:
    """Position where the full blocks of a prompt end.

    The last token never joins a block: its logits start the answer, so it is always computed
    in the tail, which therefore holds 1 to ``block_tokens`` tokens.
    """
    return max(0, (num_tokens - 1) // block_tokens * block_tokens)


def floor_to_block(num_tokens: int, *, block_tokens: int = BLOCK_TOKENS) -> int:
    """Largest multiple of ``block_tokens`` that is at most ``num_tokens``."""
    return num_tokens // block_tokens * block_tokens
