"""Log lines on standard error: plain text, or one JSON object each. Standard library only."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import TextIO

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
# These name each request's URL at INFO, and URLs can carry signatures.
QUIET = ("httpx", "httpcore", "fsspec", "s3fs", "botocore", "aiobotocore", "urllib3", "asyncio")

_HANDLER = "reame"
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"}
_CONTROLS |= {0x0A: "\\n", 0x0D: "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def setup_logging(level: str, format: str, stream: TextIO | None = None) -> None:  # noqa: A002
    """Send every record of ``level`` (debug, info, warn, error) and above to standard error.

    ``format`` is ``text`` or ``json``. Calling it again replaces the former choice; handlers of
    others stay.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.name = _HANDLER
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    for former in [h for h in root.handlers if h.name == _HANDLER]:
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(LEVELS[level])
    for name in QUIET:
        logging.getLogger(name).setLevel(max(LEVELS[level], logging.WARNING))


class TextFormatter(logging.Formatter):
    """``time LEVEL logger: message [request_id]``; a traceback follows on lines that begin with ``|``.

    Control characters are written as escapes, so that no message can look like another record
    or steer a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        request_id = getattr(record, "request_id", None)
        suffix = f" [{_escape(str(request_id))}]" if request_id else ""
        head = f"{_time(record)} {record.levelname:<7} {record.name}: {_escape(record.getMessage())}{suffix}"
        return "\n".join([head, *(f"| {_escape(line)}" for line in _traceback(self, record))])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and request_id and exception if there."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        fields = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = getattr(record, "request_id", None)
        if request_id:
            fields["request_id"] = str(request_id)
        lines = _traceback(self, record)
        if lines:
            fields["exception"] = "\n".join(lines)
        return json.dumps(fields)


def _time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    text = formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
    if record.stack_info:
        text += ("\n" if text else "") + formatter.formatStack(record.stack_info)
    return text.split("\n") if text else []


def _escape(text: str) -> str:
    return text.translate(_CONTROLS)
