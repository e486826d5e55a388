# Generated from _async/_events.py by dev/docs/main.ts.
from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

from .._batches import needs_generated_ids, split_into_batches, with_id
from .._errors import EventsLeft
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

        Raises `EventsLeft` if a request fails after an earlier one succeeded, or if Baton may have accepted events without
        ids, but did not confirm them. Raises `TypeError` or `ValueError` if an event cannot be serialized. No event is sent
        then.
        """
        if isinstance(events, Sequence):
            return self._send_all(events)
        return self._send_one(events)

    def types(self) -> list[EventType]:
        """Returns the event kinds, each with its schema and a sample."""
        return cast(
            "list[EventType]", (self._http.json(Request("GET", path_of("event-types"))))["data"]
        )

    def _send_all(self, given: Sequence[OutgoingEvent]) -> list[TakenEvent]:
        events = [with_id(event) for event in given]
        # Before the first request, so that nothing is sent if an event cannot be serialized.
        batches = split_into_batches(events)
        taken: list[TakenEvent] = []
        for batch in batches:
            try:
                response = self._http.json(_request_of(f'{{"events":[{",".join(batch)}]}}'))
            except Exception as error:
                if not taken and not needs_generated_ids(given, error):
                    raise
                raise EventsLeft(taken, events[len(taken) :]) from error
            taken.extend(cast("list[TakenEvent]", response["data"]))
        return taken

    def _send_one(self, given: OutgoingEvent) -> TakenEvent:
        event = with_id(given)
        request = _request_of(to_json(event))
        try:
            return cast("TakenEvent", self._http.json(request))
        except Exception as error:
            if not needs_generated_ids([given], error):
                raise
            raise EventsLeft([], [event]) from error


def _request_of(body: str) -> Request:
    # Events have ids, so Baton stores none of them twice if a request is repeated after its response was lost.
    return Request("POST", path_of("events"), body=body, is_repeatable=True)
