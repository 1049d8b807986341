"""Log lines: one record a line, whatever a message holds."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reame.logs import JsonFormatter, TextFormatter, setup_logging


@pytest.fixture(autouse=True)
def _restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def _record(message: str, **extra: object) -> logging.LogRecord:
    record = logging.LogRecord("reame.test", logging.INFO, __file__, 1, message, (), None)
    record.__dict__.update(extra)
    return record


def test_text_line_names_level_logger_and_request() -> None:
    """A text line says when, how bad, who, what and for which request."""
    out = io.StringIO()
    setup_logging("info", "text", out)
    logging.getLogger("reame.test").warning("slot %d freed", 3, extra={"request_id": "req-1"})
    line = out.getvalue()
    assert line.endswith("WARNING reame.test: slot 3 freed [req-1]\n")
    assert line[10] == "T"


def test_json_line_is_one_object() -> None:
    """A JSON line parses, with the traceback inside it."""
    out = io.StringIO()
    setup_logging("info", "json", out)
    try:
        raise ValueError("a\nb")
    except ValueError:
        logging.getLogger("reame.test").exception("failed\nhere", extra={"request_id": "r"})
    (line,) = out.getvalue().splitlines()
    fields = json.loads(line)
    assert fields["message"] == "failed\nhere"
    assert fields["level"] == "error"
    assert fields["request_id"] == "r"
    assert "ValueError" in fields["exception"]


@given(st.text(), st.text())
def test_no_message_forges_a_line(message: str, request_id: str) -> None:
    """Neither format ever writes more than one line for a record without a traceback."""
    record = _record(message.replace("%", "%%"), request_id=request_id)
    assert len(TextFormatter().format(record).splitlines()) == 1
    assert len(JsonFormatter().format(record).splitlines()) == 1


def test_traceback_lines_cannot_pass_for_records() -> None:
    """An exception's text with line breaks stays behind the traceback's mark."""
    try:
        raise ValueError("x\n2026-01-01T00:00:00.000Z ERROR reame: forged")
    except ValueError as error:
        record = _record("failed", exc_info=(ValueError, error, error.__traceback__))
    _, *rest = TextFormatter().format(record).splitlines()
    assert rest
    assert all(line.startswith("| ") for line in rest)


def test_level_filters() -> None:
    """Records under the level are not written."""
    out = io.StringIO()
    setup_logging("warn", "text", out)
    logging.getLogger("reame.test").info("quiet")
    assert out.getvalue() == ""


def test_second_setup_replaces_the_first() -> None:
    """Calling it twice writes each record once."""
    first, second = io.StringIO(), io.StringIO()
    setup_logging("info", "text", first)
    setup_logging("info", "text", second)
    logging.getLogger("reame.test").info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1


def test_http_clients_do_not_log_urls() -> None:
    """URLs may carry signatures, so client libraries log warnings only."""
    out = io.StringIO()
    setup_logging("debug", "text", out)
    logging.getLogger("httpx").info("GET https://host/?X-Amz-Signature=1")
    assert out.getvalue() == ""
