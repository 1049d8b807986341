"""Where prefill may be cut."""

from hypothesis import given
from hypothesis import strategies as st

from reame.blocks import BLOCK_TOKENS, floor_to_block, full_block_end


@given(st.integers(1, 100_000))
def test_tail_holds_one_to_a_block_of_tokens(num_tokens: int) -> None:
    """The last token is always in the tail, and the tail never exceeds a block."""
    end = full_block_end(num_tokens)
    assert end % BLOCK_TOKENS == 0
    assert 1 <= num_tokens - end <= BLOCK_TOKENS


def test_an_empty_prompt_has_no_blocks() -> None:
    """Nothing to cut in nothing."""
    assert full_block_end(0) == 0


@given(st.integers(0, 100_000))
def test_floor_is_the_nearest_multiple_below(num_tokens: int) -> None:
    """Flooring loses less than one block."""
    assert 0 <= num_tokens - floor_to_block(num_tokens) < BLOCK_TOKENS
