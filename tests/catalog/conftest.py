"""A small real GGUF, and a web server that misbehaves on demand."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gguf
import numpy as np
import pytest

from reame.catalog.transfer import Surroundings


def write_gguf(path: Path, *, rows: int = 64, template: str | None = "{{ x }}") -> None:
    """A llama of two layers with one real tensor and a small vocabulary."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(2)
    writer.add_context_length(256)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_file_type(0)
    writer.add_token_list([f"token{i}" for i in range(50)])
    if template is not None:
        writer.add_chat_template(template)
    rng = np.random.default_rng(7)
    writer.add_tensor("token_embd.weight", rng.random((rows, 64), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole GGUF of a few kilobytes."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path)
    return path


@dataclass
class Web:
    """What the server sends, how it misbehaves, and what it was asked."""

    body: bytes = b""
    etag: str | None = '"v1"'
    ranges: bool = True
    statuses: list[int] = field(default_factory=list)
    """Statuses of the next answers, before the file is sent."""
    cuts: list[int] = field(default_factory=list)
    """After so many bytes the next answers break off."""
    declared: int | None = None
    redirect: str | None = None
    retry_after: str | None = None
    requests: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_GET(self) -> None:
        web = self.web
        web.requests.append({name.lower(): value for name, value in self.headers.items()})
        if web.redirect is not None:
            self._head(302, {"Location": web.redirect, "Content-Length": "0"})
        elif web.statuses:
            extra = {"Retry-After": web.retry_after} if web.retry_after else {}
            self._head(web.statuses.pop(0), {"Content-Length": "0", **extra})
        else:
            self._send_file()

    def _send_file(self) -> None:
        web = self.web
        start = self._start()
        headers = {"Content-Length": str(web.declared or len(web.body) - start)}
        if web.etag:
            headers["ETag"] = web.etag
        if start is not None and start >= len(web.body) > 0 and start:
            self._head(416, {"Content-Range": f"bytes */{len(web.body)}", "Content-Length": "0"})
            return
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(web.body) - 1}/{len(web.body)}"
        self._head(206 if start else 200, headers)
        data = web.body[start:]
        if web.cuts:
            self.wfile.write(data[: web.cuts.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(data)

    def _start(self) -> int:
        asked = self.headers.get("Range")
        condition = self.headers.get("If-Range")
        if not asked or not self.web.ranges or (condition and condition != self.web.etag):
            return 0
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def serve() -> Iterator[Callable[[Web], Web]]:
    """Starts servers on loopback and stops them afterwards."""
    servers: list[ThreadingHTTPServer] = []

    def start(web: Web) -> Web:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        web.url = f"http://127.0.0.1:{server.server_address[1]}"
        return web

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def web(serve: Callable[[Web], Web], tiny_gguf: Path) -> Web:
    """A server that sends the small GGUF."""
    return serve(Web(tiny_gguf.read_bytes()))


@dataclass
class Naps:
    """Waiting that takes no time, and what was asked for."""

    seconds: list[float] = field(default_factory=list)
    free: int = 1 << 50

    def around(self) -> Surroundings:
        """The surroundings to pass on."""
        return Surroundings(sleep=self.seconds.append, free_bytes=lambda _: self.free, jitter=lambda: 0.0)


@pytest.fixture
def naps() -> Naps:
    """Injected waiting and disk space."""
    return Naps()
