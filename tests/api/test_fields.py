"""Typed reading of request fields."""

import pytest

from reame.api.body import parse_fields
from reame.api.fields import Fields
from reame.errors import InvalidRequestError


def test_null_is_absent() -> None:
    """A field of ``null`` reads as one that was not sent, for every type."""
    fields = Fields({"x": None})
    read = [fields.integer("x"), fields.number("x", 0, 1), fields.string("x"), fields.array("x")]
    assert [*read, fields.object("x"), fields.boolean("x", True)] == [None] * 5 + [True]
    assert list(fields) == []


@pytest.mark.parametrize("value", [True, "1", 1.5, [], {}, 2**70])
def test_integer_takes_whole_numbers_only(value: object) -> None:
    """Booleans, strings and fractions are no integers; the error names the field."""
    with pytest.raises(InvalidRequestError, match="'n' must be an integer") as caught:
        Fields({"n": value}).integer("n")
    assert caught.value.param == "n"


def test_whole_floats_are_integers() -> None:
    """JSON knows no difference between 2 and 2.0."""
    assert Fields({"n": 2.0}).integer("n", 1, 3) == 2


@pytest.mark.parametrize("value", [True, "0.5", [], -0.1, 2.1])
def test_number_out_of_range_says_the_range(value: object) -> None:
    """The message tells what is accepted."""
    with pytest.raises(InvalidRequestError, match="a number from 0 to 2"):
        Fields({"t": value}).number("t", 0, 2)


def test_nested_fields_name_their_path() -> None:
    """A fault inside an object names the way to it."""
    inner = Fields({"stream_options": {"include_usage": "yes"}}).object("stream_options")
    assert inner is not None
    with pytest.raises(InvalidRequestError) as caught:
        inner.boolean("include_usage")
    assert caught.value.param == "stream_options.include_usage"


def test_long_values_are_cut() -> None:
    """An error never carries a client's whole prompt."""
    with pytest.raises(InvalidRequestError) as caught:
        Fields({"n": "x" * 10_000}).integer("n")
    assert len(caught.value.message) < 150


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe{}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xed\xa0\x80"}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    """Broken JSON, invalid UTF-8, lone surrogates, nesting bombs and other types are the client's fault."""
    with pytest.raises(InvalidRequestError) as caught:
        parse_fields(body)
    assert caught.value.code == "invalid_json"
