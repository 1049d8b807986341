"""A client that costs little, so that what is measured is the server: SSE over bare sockets."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass(slots=True)
class StreamRecord:
    """One streamed answer. Times are seconds from its request, which left at ``began_s`` of the
    performance counter; ``error`` is the server's own message.
    """

    began_s: float = 0.0
    ttft_s: float = 0.0
    total_s: float = 0.0
    num_tokens: int = 0
    text: str = ""
    piece_times_s: list[float] = field(default_factory=list)
    error: str | None = None
    timings: dict[str, Any] = field(default_factory=dict)

    def pieces_between(self, begin_s: float, end_s: float) -> int:
        """Pieces that came between two readings of the performance counter."""
        return sum(begin_s < self.began_s + t < end_s for t in self.piece_times_s)

    @property
    def largest_gap_s(self) -> float:
        """The longest silence between two pieces of text."""
        return max((b - a for a, b in pairwise(self.piece_times_s)), default=0.0)


async def stream_completion(
    host: str, port: int, body: dict[str, Any], *, timeout_s: float = 600
) -> StreamRecord:
    """POST one streamed ``/v1/completions`` and record when its pieces arrive."""
    payload = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
    )
    record = StreamRecord()
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(host, port, limit=2**20)
        began_s = record.began_s = time.perf_counter()
        writer.write(head.encode() + payload)
        status = await reader.readline()
        while line := await reader.readline():
            if line.startswith(b"data: {"):
                _take_chunk(record, json.loads(line[6:]), time.perf_counter() - began_s)
            elif line.startswith(b"data: [DONE]"):
                break
            elif line.startswith(b"{") and b" 200 " not in status:
                record.error = line.decode()
        record.total_s = time.perf_counter() - began_s
        writer.close()
    return record


def _take_chunk(record: StreamRecord, chunk: dict[str, Any], at_s: float) -> None:
    if "error" in chunk:
        record.error = chunk["error"]["message"]
        return
    if chunk.get("usage"):
        record.num_tokens = chunk["usage"]["completion_tokens"]
    if chunk.get("timings"):
        record.timings = chunk["timings"]
    for choice in chunk["choices"]:
        if choice["text"]:
            record.text += choice["text"]
            record.piece_times_s.append(at_s)
            record.ttft_s = record.ttft_s or at_s
