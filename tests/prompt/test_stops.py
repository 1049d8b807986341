"""Stop strings end the text wherever they are cut."""

from hypothesis import given
from hypothesis import strategies as st

from reame.prompt import StopMatcher, StopResult

STOPS = st.lists(st.text("ab", min_size=1, max_size=4), max_size=4)
PIECES = st.lists(st.text("abc", max_size=5), max_size=12)


def _run(stops: list[str], pieces: list[str]) -> tuple[list[str], str | None]:
    matcher = StopMatcher(stops)
    results = [matcher.feed(piece) for piece in pieces]
    matched = results[-1].matched if results else None
    return [*(result.text for result in results), matcher.flush()], matched


def _oracle(stops: list[str], whole: str) -> tuple[str, str | None]:
    """The stop string that completes first, the longest of several."""
    ends = [(whole.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in whole]
    if not ends:
        return whole, None
    end, _, stop = min(ends)
    return whole[: end - len(stop)], stop


@given(STOPS, PIECES)
def test_any_cut_equals_searching_the_whole(stops: list[str], pieces: list[str]) -> None:
    """Text and matched stop string are those of a search in the whole text."""
    shown, matched = _run(stops, pieces)
    assert ("".join(shown), matched) == _oracle(stops, "".join(pieces))


@given(STOPS, PIECES)
def test_shown_text_never_holds_or_begins_a_stop_that_came(stops: list[str], pieces: list[str]) -> None:
    """What was shown before the match is never part of the stop string."""
    shown, matched = _run(stops, pieces)
    text = "".join(shown)
    assert not any(stop in text for stop in stops)
    assert "".join(pieces).startswith(text + (matched or ""))


@given(STOPS, PIECES)
def test_holds_back_only_what_could_begin_a_stop(stops: list[str], pieces: list[str]) -> None:
    """At each moment the held tail is the longest one that a stop string begins with."""
    matcher, fed, shown = StopMatcher(stops), "", ""
    for piece in pieces:
        result = matcher.feed(piece)
        fed, shown = fed + piece, shown + result.text
        if result.matched is not None:
            return
        tails = [fed[start:] for start in range(len(fed) + 1)]
        longest = next(tail for tail in tails if any(s.startswith(tail) for s in stops) or not tail)
        assert fed == shown + longest


def test_stop_over_three_pieces() -> None:
    """A stop string in three pieces is found and none of it shown."""
    assert _run(["</answer>"], ["42</", "ans", "wer> more"]) == (["42", "", "", ""], "</answer>")


def test_false_start_is_released() -> None:
    """Text held back for a stop string that does not come is shown at once and once."""
    assert _run(["STOP"], ["a ST", "ART"]) == (["a ", "START", ""], None)


def test_first_to_complete_wins() -> None:
    """A short stop string inside the beginning of a longer one ends the text."""
    assert _run(["abcd", "bc"], ["xabcd"]) == (["xa", ""], "bc")


def test_longest_wins_at_the_same_end() -> None:
    """Of two stop strings with the same end the longer one hides more."""
    assert _run(["c", "abc"], ["xab", "c"]) == (["x", "", ""], "abc")


def test_nothing_after_a_match() -> None:
    """After a match all further text is swallowed, and nothing is held."""
    matcher = StopMatcher(["."])
    assert matcher.feed("a.b") == StopResult("a", ".")
    assert matcher.feed("c") == StopResult("", ".")
    assert matcher.flush() == ""


def test_empty_stop_strings_are_ignored() -> None:
    """An empty stop string would end every text before it began."""
    assert _run([""], ["text"]) == (["text", ""], None)


def test_held_tail_comes_at_the_end() -> None:
    """The end of the text releases what was held, once."""
    matcher = StopMatcher(["END"])
    assert matcher.feed("the EN").text == "the "
    assert (matcher.flush(), matcher.flush()) == ("EN", "")
