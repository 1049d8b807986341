"""The INI dialect: every line is a setting, a header, a comment or an error that names it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.config.ini import Entry, decode_conf, parse_ini
from reame.errors import ConfigError


def _pairs(text: str) -> dict[tuple[str, str], str]:
    return {(e.section, e.key): e.value for e in parse_ini(text, "f")}


def test_sections_keys_and_comments() -> None:
    """Keys belong to the header above; full-line comments and blank lines vanish."""
    text = "bare = 1\n# c\n; d\n\n[a]\n  x =  y z \n[b]\nx==\n"
    assert _pairs(text) == {("", "bare"): "1", ("a", "x"): "y z", ("b", "x"): "="}


def test_values_are_literal() -> None:
    """Percent signs, quotes, braces and marks inside a value mean themselves."""
    assert _pairs('[a]\nx = %(home)s "q" ${v} #1;2\n')["a", "x"] == '%(home)s "q" ${v} #1;2'


def test_origin_has_file_and_line() -> None:
    """Each entry knows its line, also with Windows line ends."""
    assert parse_ini("\r\n[a]\r\nk = v\r\n", "my.conf") == (Entry("a", "k", "v", "my.conf, line 3"),)


def test_unicode_line_separators_do_not_end_lines() -> None:
    """Only LF ends a line, so counted lines are those of an editor."""
    assert parse_ini("[a]\nx = 1\u2028\x0c2\ny = 3", "f")[1].origin == "f, line 3"


@pytest.mark.parametrize("line", ["[open", "[]", "novalue", "= 1", "[ ]"])
def test_bad_line_is_named(line: str) -> None:
    """A line that means nothing is an error with its number."""
    with pytest.raises(ConfigError, match="f, line 2"):
        parse_ini(f"# one\n{line}\n", "f")


def test_duplicate_names_both_lines() -> None:
    """A key given twice is an error that names both places."""
    with pytest.raises(ConfigError, match=r"line 4: \[a\] x is already set at f, line 2"):
        parse_ini("[a]\nx = 1\n[a]\nx = 2\n", "f")


def test_byte_order_mark_is_dropped() -> None:
    """Files from Windows editors load."""
    assert decode_conf(b"\xef\xbb\xbf[a]", "f") == "[a]"


def test_other_encodings_name_the_line() -> None:
    """A file that is not UTF-8 says where."""
    with pytest.raises(ConfigError, match="f, line 2: not UTF-8"):
        decode_conf(b"[a]\nx = \xff\n", "f")


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    """No text makes the parser fail in another way than ConfigError."""
    message = ""
    try:
        parse_ini(text, "f")
    except ConfigError as error:
        message = error.message
    assert not message or "f, line " in message


_word = st.text(st.characters(categories=["L", "N"], include_characters="_-."), min_size=1, max_size=12)
_value = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), max_size=20)


@given(st.dictionaries(st.tuples(_word, _word), _value), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read(settings: dict[tuple[str, str], str], end: str) -> None:
    """Any sections, keys and values come back as they were written."""
    lines = [
        line for (section, key), value in settings.items() for line in (f"[{section}]", f"{key} = {value}")
    ]
    assert _pairs(end.join(lines)) == settings
