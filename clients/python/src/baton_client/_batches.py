from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from ._request import to_json
from ._vocabulary import MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST
from .types import OutgoingEvent

_ENVELOPE_BYTES = 64
"""The size of the JSON around the events of a request, with a margin."""


def with_id(event: OutgoingEvent) -> OutgoingEvent:
    """Returns the event with an id, so that Baton stores it once if it is sent twice."""
    return event if event.get("id") is not None else {**event, "id": f"evt_{secrets.token_hex(16)}"}


def split_into_batches(events: Sequence[OutgoingEvent]) -> Iterator[list[str]]:
    """Yields the events as JSON texts, in batches that fit into one request. A too large event is a separate batch."""
    batch: list[str] = []
    size = _ENVELOPE_BYTES
    for event in events:
        text = to_json(event)
        added = len(text.encode()) + 1
        if batch and (len(batch) >= MAX_EVENTS_PER_REQUEST or size + added > MAX_BODY_BYTES):
            yield batch
            batch, size = [], _ENVELOPE_BYTES
        batch.append(text)
        size += added
    if batch:
        yield batch
