from __future__ import annotations

import secrets
from collections.abc import Sequence

from ._request import to_json
from ._retry import may_pass
from ._vocabulary import MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST
from .types import OutgoingEvent

_ENVELOPE_BYTES = 64
"""The size of the JSON around the events of a request, with a margin."""


def with_id(event: OutgoingEvent) -> OutgoingEvent:
    """Returns the event with an id, so that Baton stores it once if it is sent twice."""
    return event if event.get("id") is not None else {**event, "id": f"evt_{secrets.token_hex(16)}"}


def needs_generated_ids(given: Sequence[OutgoingEvent], error: Exception) -> bool:
    """
    Returns true if the caller needs the ids that this client generated.

    After this error the same events can be sent again, and Baton may already have stored them.
    """
    return may_pass(error) and any(event.get("id") is None for event in given)


def split_into_batches(events: Sequence[OutgoingEvent]) -> list[list[str]]:
    """
    Returns the events as JSON texts, in batches that fit into one request. A too large event is a separate batch.

    Raises `TypeError` or `ValueError` if an event cannot be serialized.
    """
    batches: list[list[str]] = []
    batch: list[str] = []
    size = _ENVELOPE_BYTES
    for event in events:
        text = to_json(event)
        added = len(text.encode()) + 1
        if batch and (len(batch) >= MAX_EVENTS_PER_REQUEST or size + added > MAX_BODY_BYTES):
            batches.append(batch)
            batch, size = [], _ENVELOPE_BYTES
        batch.append(text)
        size += added
    if batch:
        batches.append(batch)
    return batches
