"""One life of an engine process, seen from the replica: spawned, spoken to, buried.

Belongs to the event loop that started it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator

from reame.engine.options import EngineOptions
from reame.engine.wire import (
    HEADER,
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
    from_engine_decoder,
)
from reame.errors import EngineDiedError, EngineError, SequenceFailedError
from reame.types import EngineInfo, GenerateEvent, GenerateRequest

_SOCKET_BUFFER_BYTES = 4 * 1024 * 1024

_LAST_WORDS_S = 5.0

_StreamItem = GenerateEvent | EngineError


class EngineProcess:
    """A running engine process and the streams open on it."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._keys = itertools.count(1)
        self._streams: dict[int, asyncio.Queue[_StreamItem]] = {}
        self._pongs: dict[int, asyncio.Future[float]] = {}
        self.ready: asyncio.Future[EngineInfo] = asyncio.get_running_loop().create_future()
        self._sentence: str | None = None
        self.num_running = 0
        self.num_waiting = 0
        self._death: EngineDiedError | None = None

    @classmethod
    async def spawn(cls, options: EngineOptions) -> EngineProcess:
        """Start a process and send it its options; :attr:`ready` tells when it serves."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER_BYTES)
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 - a fork takes a millisecond, once in an engine's life
                [sys.executable, "-m", "reame.engine.worker", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "GGML_NO_BACKTRACE": "1"},
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        engine = cls(process, reader, writer)
        engine._send(Start(options))
        return engine

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def run(self) -> EngineDiedError:
        """Pass news on until the process ends; then fail every open stream and say why."""
        async for message in self._messages():
            self._handle(message)
        self._writer.close()
        returncode = await asyncio.to_thread(self._bury)
        self._death = EngineDiedError(self._sentence or _epitaph(returncode))
        if not self.ready.done():
            self.ready.set_exception(self._death)
        for queue in self._streams.values():
            queue.put_nowait(self._death)
        for pong in self._pongs.values():
            if not pong.done():
                pong.set_exception(self._death)
        return self._death

    def _bury(self) -> int:
        """Wait for a process that closed its socket; one that lingers is killed."""
        try:
            return self._process.wait(_LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    @property
    def is_dead(self) -> bool:
        """Whether it ended or is about to: nothing new should be sent to it."""
        return self._sentence is not None or self._writer.is_closing()

    async def _messages(self) -> AsyncIterator[FromEngine]:
        try:
            while True:
                (size,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
                yield from_engine_decoder.decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    def _handle(self, message: FromEngine) -> None:
        match message:
            case Events(events, num_running, num_waiting):
                self.num_running, self.num_waiting = num_running, num_waiting
                for event in events:
                    self._deliver(event)
            case Failed(seq, text):
                self._put(seq, SequenceFailedError(text))
            case Pong(number, step_age_s):
                if number in self._pongs and not self._pongs[number].done():
                    self._pongs[number].set_result(step_age_s)
            case Ready(info):
                self.ready.set_result(info)
            case StartFailed(text):
                self.ready.set_exception(EngineError(text))

    def _deliver(self, event: Event) -> None:
        self._put(event.seq, GenerateEvent(event.text, tuple(event.ids), event.finish))

    def _put(self, seq: int, item: _StreamItem) -> None:
        queue = self._streams.get(seq)
        if queue is not None:
            queue.put_nowait(item)

    def _send(self, message: ToEngine) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_frame(message))

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
        """Run one sequence; leaving early cancels it.

        Raises:
            EngineDiedError: the process ended meanwhile.
            SequenceFailedError: this sequence failed.
        """
        if self._death is not None:
            raise self._death
        key = next(self._keys)
        queue = self._streams[key] = asyncio.Queue()
        ended = False
        self._send(Submit(key, request))
        try:
            while not ended:
                item = await queue.get()
                ended = isinstance(item, EngineError) or item.finish is not None
                if isinstance(item, EngineError):
                    raise item
                yield item
        finally:
            del self._streams[key]
            if not ended:
                self._send(Cancel(key))

    async def ping(self) -> float:
        """Seconds that the running step has taken so far; 0 when idle.

        Raises:
            EngineDiedError: the process ended.
        """
        if self._death is not None:
            raise self._death
        number = next(self._keys)
        pong: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._pongs[number] = pong
        self._send(Ping(number))
        try:
            return await pong
        finally:
            del self._pongs[number]

    def kill(self, reason: str) -> None:
        """End the process at once, telling its open streams why; :meth:`run` returns soon after."""
        self._sentence = self._sentence or reason
        self._process.kill()


def _epitaph(returncode: int) -> str:
    """Why a process ended, for whoever has to act on it."""
    if returncode >= 0:
        return f"the engine process ended with exit code {returncode}; its log says why"
    name = signal.Signals(-returncode).name
    hints: dict[str, str] = {
        "SIGILL": "llama-cpp-python was built for another CPU; rebuild it on this machine with `make wheel`",
        "SIGKILL": "killed from outside, often for lack of memory; `reame doctor` compares need and supply",
        "SIGABRT": "llama.cpp stopped itself; its last log lines name the assertion",
    }
    return f"the engine process died of {name}" + (f": {hints[name]}" if name in hints else "")
