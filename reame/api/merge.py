"""Several sequences as one stream; when one fails or the reader leaves, all end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from reame.api.protocol import Generator
from reame.errors import EngineError
from reame.types import GenerateEvent, GenerateRequest

Indexed = tuple[int, GenerateEvent]
_Queue = asyncio.Queue[Indexed | BaseException | None]


def generate_all(
    generator: Generator, requests: Sequence[GenerateRequest], max_parallel: int
) -> AsyncGenerator[Indexed, None]:
    """Generate ``requests``, at most ``max_parallel`` at once; each event comes with its index.

    Closing it closes every sequence.

    Raises:
        ReameError: the first error of any sequence.
    """
    if len(requests) == 1:
        return _single(generator, requests[0])
    return _merged(generator, requests, max_parallel)


async def accept(events: AsyncGenerator[Indexed, None], num_first: int) -> AsyncGenerator[Indexed, None]:
    """Wait until ``num_first`` sequences are accepted; return the events that say more than that.

    The caller closes both ``events`` and what is returned.

    Raises:
        ReameError: a sequence was refused.
    """
    seen: set[int] = set()
    waiting: list[Indexed] = []
    async for index, event in events:
        seen.add(index)
        if event.text or event.ids or event.finish:
            waiting.append((index, event))
        if len(seen) >= num_first:
            break
    return _resumed(waiting, events)


async def _resumed(
    waiting: Sequence[Indexed], events: AsyncGenerator[Indexed, None]
) -> AsyncGenerator[Indexed, None]:
    for item in waiting:
        yield item
    async for item in events:
        yield item


async def _single(generator: Generator, request: GenerateRequest) -> AsyncGenerator[Indexed, None]:
    async with aclosing(_whole(generator, request)) as events:
        async for event in events:
            yield 0, event


async def _whole(generator: Generator, request: GenerateRequest) -> AsyncGenerator[GenerateEvent, None]:
    """The events of one sequence, up to its finish, which must come."""
    async with aclosing(generator.generate(request)) as events:
        async for event in events:
            yield event
            if event.finish is not None:
                return
    raise EngineError("The engine ended this sequence without saying why.")


async def _merged(
    generator: Generator, requests: Sequence[GenerateRequest], max_parallel: int
) -> AsyncGenerator[Indexed, None]:
    queue: _Queue = asyncio.Queue(maxsize=2 * max_parallel)
    slots = asyncio.Semaphore(max_parallel)
    pumps = [
        asyncio.create_task(_pump(generator, index, request, slots, queue))
        for index, request in enumerate(requests)
    ]
    try:
        left = len(pumps)
        while left:
            item = await queue.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                left -= 1
            else:
                yield item
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(
    generator: Generator, index: int, request: GenerateRequest, slots: asyncio.Semaphore, queue: _Queue
) -> None:
    try:
        async with slots, aclosing(_whole(generator, request)) as events:
            async for event in events:
                await queue.put((index, event))
        await queue.put(None)
    except Exception as error:
        await queue.put(error)
