from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Literal, cast

import httpx

from .._errors import BatonError, TransportFailed
from .._request import Request, path_of
from .._retry import RetryWindow, backoff
from .._sse import EventStreamParser
from .._waiting import is_settled
from ..types import FeedEvent, Task
from ._http import AsyncHttp

TransportName = Literal["stream", "polling"]
"""`stream`: server-sent events. `polling`: one request after another."""

_STREAM_SILENCE = 30.0
"""A stream sends its first bytes immediately, and a comment after 15 s without an event."""
_MAX_STREAM_FAILURES = 2
"""After this number of consecutive failures without an event, polling is used."""
_POLL_DELAY = 1.0


async def follow_feed(
    http: AsyncHttp,
    id: str,
    *,
    after: int,
    patience: float,
    on_transport: Callable[[TransportName, str | None], None] | None,
    on_unreachable: Callable[[Exception], None] | None,
) -> AsyncGenerator[FeedEvent, None]:
    """
    Yields a task's events after the `seq` in `after`, in order and once, to the last one.

    Reconnects and changes the transport as needed.
    """
    window = RetryWindow(seconds=patience, random=http.random, clock=monotonic)
    transport: TransportName = "stream"
    connected: TransportName | None = None
    reason: str | None = None
    failures = 0
    seq = after

    def on_connected() -> None:
        nonlocal connected
        window.reset()
        # Polling connects for each request. Only the first one is reported.
        if transport == "polling" and connected == "polling":
            return
        connected = transport
        if on_transport is not None:
            on_transport(transport, reason)

    while True:
        seq_before = seq
        read = _read_stream if transport == "stream" else _read_by_polling
        try:
            async with aclosing(read(http, id, seq, on_connected)) as events:
                async for event in events:
                    if event["seq"] <= seq:
                        continue
                    if transport == "stream" and event["seq"] > seq + 1:
                        raise TransportFailed("The event stream skipped an event.")
                    seq = event["seq"]
                    window.reset()
                    yield event
            if await _is_complete(http, id, seq):
                return
            window.reset()
            if transport == "stream":
                raise TransportFailed("The connection ended before the task did.")
        except TransportFailed as error:
            reason = str(error)
            failures = 1 if seq > seq_before else failures + 1
            if error.is_permanent or failures >= _MAX_STREAM_FAILURES:
                transport, failures = "polling", 0
                continue
            delay = backoff(failures, http.random)
        except BatonError as error:
            delay = window.delay_after(error)
            connected = None
            if on_unreachable is not None:
                on_unreachable(error)
        else:
            continue
        await asyncio.sleep(delay)


async def _is_complete(http: AsyncHttp, id: str, seq: int) -> bool:
    """Returns true if no event after `seq` exists and none will follow."""
    task = cast("Task", await http.json(Request("GET", path_of("tasks", id), retries=0)))
    return is_settled(task) and task["last_seq"] <= seq


async def _read_stream(
    http: AsyncHttp, id: str, after: int, on_connected: Callable[[], None]
) -> AsyncGenerator[FeedEvent, None]:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    request = Request("GET", path_of("tasks", id, "events"), headers=headers)
    async with http.open(request, silence=_STREAM_SILENCE) as response:
        if response.status_code == 204:
            # The run has ended, and there are no further events.
            return
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise TransportFailed("The response is not a stream of server-sent events.", is_permanent=True)
        on_connected()
        parser = EventStreamParser()
        try:
            async for chunk in response.aiter_bytes():
                for data in parser.feed(chunk):
                    yield cast("FeedEvent", json.loads(data))
        except (httpx.TransportError, httpx.DecodingError, ValueError) as error:
            raise TransportFailed(f"The event stream failed: {error or type(error).__name__}") from None


async def _read_by_polling(
    http: AsyncHttp, id: str, after: int, on_connected: Callable[[], None]
) -> AsyncGenerator[FeedEvent, None]:
    request = Request("GET", path_of("tasks", id, "events"), {"after": after}, retries=0)
    events = cast("list[FeedEvent]", (await http.json(request))["data"])
    on_connected()
    for event in events:
        yield event
    if not events:
        await asyncio.sleep(_POLL_DELAY)
