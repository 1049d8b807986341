"""Reads server-sent events."""

import json
from typing import Any


def events(text: str) -> list[Any]:
    """The JSON of each event; ``[DONE]`` as that string. Comments are left out."""
    datas = [part.removeprefix("data: ") for part in text.split("\n\n") if part.startswith("data: ")]
    return [data if data == "[DONE]" else json.loads(data) for data in datas]
