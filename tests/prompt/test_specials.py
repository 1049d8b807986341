"""Cutting text at special tokens, and keeping text from becoming one."""

from hypothesis import example, given
from hypothesis import strategies as st

from reame.prompt.specials import SpecialToken, SpecialTokens

TEXTS = ["<|a|>", "<|ab|>", "<a>", "<|a|><|a|>"]
SPECIALS = SpecialTokens(
    [*(SpecialToken(n, text) for n, text in enumerate(TEXTS)), SpecialToken(9, "<u>", False)]
)
WRITINGS = st.lists(st.sampled_from(["<|", "|>", "a", "b", "<", "|", ">", "<|a|>"]), max_size=8).map("".join)


@given(WRITINGS)
def test_parts_join_to_the_text(text: str) -> None:
    """Cutting loses nothing, and no control token is left in a plain part."""
    parts = SPECIALS.split_control(text)
    assert "".join(p if isinstance(p, str) else TEXTS[p] for p in parts) == text
    assert not any(t in p for p in parts if isinstance(p, str) for t in TEXTS)


@given(WRITINGS)
def test_broken_text_holds_no_control_token(text: str) -> None:
    """After breaking up, no control token is left, and dropping the marks gives the text back."""
    broken = SPECIALS.break_up(text, "~")
    assert not any(t in broken for t in TEXTS)
    assert broken.replace("~", "") == text


@given(WRITINGS, WRITINGS, WRITINGS)
@example("<|", "a|>", "")
@example("", "<|", "a|>")
def test_walled_text_shares_no_control_token(before: str, text: str, after: str) -> None:
    """No control token begins or ends in walled text, whatever stands around it."""
    walled = SPECIALS.wall_off(text, "~")
    whole = before + walled + after
    for control in TEXTS:
        for start in range(len(whole)):
            if whole.startswith(control, start):
                end = start + len(control)
                inside = range(len(before), len(before) + len(walled))
                assert start not in inside
                assert end - 1 not in inside


def test_longer_tokens_come_first() -> None:
    """Where one control token holds others, the longest is found."""
    assert SPECIALS.split_control("x<|a|><|a|>y<|a|>") == ["x", 3, "y", 0]


def test_user_defined_tokens_are_cut_apart_from_control_tokens() -> None:
    """Each kind is cut alone; counting takes both."""
    assert SPECIALS.split_control("<u><a>") == ["<u>", 2]
    assert SPECIALS.split_user_defined("<u><a>") == [9, "<a>"]
    assert SPECIALS.count("<u><a><a>") == 3


def test_tokens_swallow_white_space_beside_them() -> None:
    """A token that strips a side takes the white space there with it."""
    left = SpecialTokens([SpecialToken(1, "[M]", strips_left=True)])
    right = SpecialTokens([SpecialToken(1, "[M]", strips_right=True)])
    assert left.split_control(" a [M] b ") == [" a", 1, " b "]
    assert right.split_control(" a [M] b ") == [" a ", 1, "b "]


def test_single_characters_are_never_control_tokens() -> None:
    """A control token of one character could not be kept out of users' text, so it is not read."""
    specials = SpecialTokens([SpecialToken(1, "x"), SpecialToken(2, "<s>")])
    assert specials.has_short_control
    assert specials.split_control("x<s>x") == ["x", 2, "x"]
