# Generated from _async/_events.py by dev/docs/main.ts.
from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

from .._batches import split_into_batches, with_id
from .._errors import BatonError, EventsLeft
from .._request import Request, path_of, to_json
from ..types import EventType, OutgoingEvent, TakenEvent
from ._http import Http


class Events:
    """The methods for the events of the workspace."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @overload
    def send(self, events: OutgoingEvent, /) -> TakenEvent: ...
    @overload
    def send(self, events: Sequence[OutgoingEvent], /) -> list[TakenEvent]: ...
    def send(self, events: OutgoingEvent | Sequence[OutgoingEvent], /) -> TakenEvent | list[TakenEvent]:
        """
        Sends one event, or any number of events in requests of at most 500 events and 1 MiB.

        Baton has stored the events durably when the call returns. It returns the results in the order of the events. Baton
        accepts all events of a request or none of them.

        Raises `EventsLeft` if a request fails after an earlier one succeeded.
        """
        if isinstance(events, Sequence):
            return self._send_all([with_id(event) for event in events])
        return cast("TakenEvent", self._http.json(_request_of(to_json(with_id(events)))))

    def types(self) -> list[EventType]:
        """Returns the event kinds, each with its schema and a sample."""
        return cast(
            "list[EventType]", (self._http.json(Request("GET", path_of("event-types"))))["data"]
        )

    def _send_all(self, events: Sequence[OutgoingEvent]) -> list[TakenEvent]:
        taken: list[TakenEvent] = []
        for batch in split_into_batches(events):
            try:
                response = self._http.json(_request_of(f'{{"events":[{",".join(batch)}]}}'))
            except BatonError as error:
                if not taken:
                    raise
                raise EventsLeft(taken, events[len(taken) :]) from error
            taken.extend(cast("list[TakenEvent]", response["data"]))
        return taken


def _request_of(body: str) -> Request:
    # Events have ids, so Baton stores none of them twice if a request is repeated after its response was lost.
    return Request("POST", path_of("events"), body=body, is_repeatable=True)
