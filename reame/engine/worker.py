"""The engine process: one thread reads the socket, the main thread computes.

Started by :mod:`reame.engine.process` with an inherited socket. When the other end closes, the
replica is gone and this process ends at once. Ctrl-C in a terminal is left to the replica.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections import deque

from reame.engine.core import Engine
from reame.engine.llama import Context, Model
from reame.engine.options import EngineOptions
from reame.engine.wire import (
    HEADER,
    MAX_FRAME_BYTES,
    Cancel,
    Event,
    Events,
    Failed,
    FromEngine,
    Ping,
    Pong,
    Ready,
    Start,
    StartFailed,
    Submit,
    ToEngine,
    encode_frame,
    to_engine_decoder,
)
from reame.errors import ReameError
from reame.logs import setup_logging
from reame.types import EngineInfo


class Link:
    """The socket: blocking reads from one thread, whole frames written from any."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._write_lock = threading.Lock()

    def read(self) -> ToEngine:
        """Wait for the next message; the replica's end closing ends the process."""
        (size,) = HEADER.unpack(self._read_exactly(HEADER.size))
        if size > MAX_FRAME_BYTES:
            raise ValueError(f"a frame of {size} bytes is no message")
        return to_engine_decoder.decode(self._read_exactly(size))

    def _read_exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                os._exit(0)
            parts += part
        return bytes(parts)

    def write(self, message: FromEngine) -> None:
        """Send one message whole."""
        with self._write_lock:
            try:
                self._socket.sendall(encode_frame(message))
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)


class Worker:
    """Feeds the engine from the link until the process ends."""

    def __init__(self, link: Link, engine: Engine) -> None:
        self._link = link
        self._engine = engine
        self._inbox: deque[Submit | Cancel] = deque()
        self._arrived = threading.Event()
        self._step_began_s: float | None = None
        self._told_load = (0, 0)

    def run(self) -> None:
        """Serve; never returns."""
        threading.Thread(target=self._read, name="reame-engine-reader", daemon=True).start()
        while True:
            self._take_in()
            if not self._engine.has_work:
                self._idle()
                continue
            self._step_began_s = time.monotonic()
            news = self._engine.step()
            self._step_began_s = None
            self._tell(news)

    def _idle(self) -> None:
        self._tell([])
        self._engine.check_integrity()
        self._arrived.wait()
        self._arrived.clear()

    def _read(self) -> None:
        while True:
            message = self._link.read()
            if isinstance(message, Ping):
                self._answer(message)
                continue
            if isinstance(message, Cancel):
                self._engine.interrupt(message.seq)
            if isinstance(message, Submit | Cancel):
                self._inbox.append(message)
                self._arrived.set()

    def _answer(self, ping: Ping) -> None:
        began_s = self._step_began_s
        age_s = time.monotonic() - began_s if began_s is not None else 0.0
        self._link.write(Pong(ping.number, age_s))

    def _take_in(self) -> None:
        while self._inbox:
            message = self._inbox.popleft()
            if isinstance(message, Cancel):
                self._engine.cancel(message.seq)
                continue
            refused = self._engine.submit(message.seq, message.request)
            if refused is not None:
                self._link.write(refused)

    def _tell(self, news: list[Event | Failed]) -> None:
        events = [item for item in news if isinstance(item, Event)]
        for item in news:
            if isinstance(item, Failed):
                self._link.write(item)
        load = (self._engine.num_running, self._engine.num_waiting)
        if events or load != self._told_load:
            self._told_load = load
            self._link.write(Events(events, *load))


def build_engine(options: EngineOptions) -> tuple[Engine, EngineInfo]:
    """Load the model and make its context.

    Raises:
        ModelInvalidError: llama.cpp cannot load the file.
        EngineError: no context of this size can be made.
    """
    model = Model(options)
    context = Context(model, options)
    info = EngineInfo(
        context_length=min(context.context_length, model.context_length_trained),
        context_length_trained=model.context_length_trained,
        num_slots=options.num_slots,
        num_threads=options.num_threads,
        num_parameters=model.num_parameters,
        model_bytes=model.size_bytes,
        vocab_size=model.vocab_size,
        pid=os.getpid(),
    )
    return Engine(model, context, options), info


def main() -> None:
    """Entry point: ``python -m reame.engine.worker FD``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = Link(socket.socket(fileno=int(sys.argv[1])))
    start = link.read()
    if not isinstance(start, Start):
        raise SystemExit("the first message must be Start")
    setup_logging(start.options.log_level, start.options.log_format)
    try:
        engine, info = build_engine(start.options)
    except ReameError as error:
        link.write(StartFailed(error.message))
        raise SystemExit(1) from None
    link.write(Ready(info))
    Worker(link, engine).run()


if __name__ == "__main__":
    main()
