# Generated from _async/_tasks.py by dev/docs/main.ts.
from __future__ import annotations

from collections.abc import Generator, Callable, Mapping
from typing import cast

from typing_extensions import Unpack

from .._request import Request, idempotent, path_of, post
from .._waiting import Until
from ..types import (
    AgentCall,
    Artifact,
    CallbackAttempt,
    CallFilter,
    FeedEvent,
    ListedTask,
    Task,
    TaskFilter,
    TaskRerun,
    TaskSubmission,
    TaskSubmitted,
)
from ._follow import TransportName, follow_feed
from ._http import Http
from ._listing import Listing
from ._wait import wait_for_task

_PATIENCE = 60.0


class Tasks:
    """The methods for tasks. An `id` is the `execution_id` of a task."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def submit(
        self, *, idempotency_key: str | None = None, **task: Unpack[TaskSubmission]
    ) -> TaskSubmitted:
        """
        Submits a task. Only this response contains the `callback_secret`.

        A request with the same `idempotency_key` and task returns the first response again for 24 hours. Default: a new key
        for each call, so that retries of this call create one task.
        """
        request = post("tasks", body=task, headers=idempotent(idempotency_key))
        return cast("TaskSubmitted", self._http.json(request))

    def get(self, id: str, /) -> Task:
        """Returns the current state of a task."""
        return cast("Task", self._http.json(Request("GET", path_of("tasks", id))))

    def pause(self, id: str, /, *, reason: str | None = None) -> Task:
        """Pauses a run. No new work starts. Work in progress finishes, and its results are kept."""
        return self._control("pause", id, reason=reason)

    def continue_(self, id: str, /, *, reason: str | None = None, question: str | None = None) -> Task:
        """
        Continues a paused run. If an agent waits for an answer, `reason` is the answer.

        `question` is the id of the question that this answers. It is needed if the run has asked more than one.
        """
        return self._control("continue", id, reason=reason, question=question)

    def cancel(self, id: str, /, *, reason: str | None = None) -> Task:
        """Cancels a run."""
        return self._control("cancel", id, reason=reason)

    def rerun(
        self,
        id: str,
        /,
        *,
        from_step: str | None = None,
        answer: str | None = None,
        idempotency_key: str | None = None,
    ) -> TaskRerun:
        """
        Reruns an ended task as a new task, from the step `from_step` if it is given.

        For an escalated task, `answer` tells the agent of the step that escalated what to do.
        """
        given = {"from_step": from_step, "answer": answer}
        body = {name: value for name, value in given.items() if value is not None}
        request = post("tasks", id, "rerun", body=body, headers=idempotent(idempotency_key))
        return cast("TaskRerun", self._http.json(request))

    def events(self, id: str, /, *, after: int | None = None) -> list[FeedEvent]:
        """
        Returns the existing events after the `seq` in `after`, oldest first.

        To also receive new events, use `follow`.
        """
        request = Request("GET", path_of("tasks", id, "events"), {"after": after})
        return cast("list[FeedEvent]", (self._http.json(request))["data"])

    def callbacks(self, id: str, /) -> list[CallbackAttempt]:
        """Returns all attempts to send the callback."""
        request = Request("GET", path_of("tasks", id, "callbacks"))
        return cast("list[CallbackAttempt]", (self._http.json(request))["data"])

    def retry_callback(self, id: str, /) -> Task:
        """Makes one more attempt to send a failed callback, which is `pending` until the attempt has ended."""
        return cast("Task", self._http.json(post("tasks", id, "callback", "retry")))

    def calls(self, id: str, /, **filter: Unpack[CallFilter]) -> Listing[AgentCall]:
        """Lists the calls of models and tools."""
        return Listing(self._http, path_of("tasks", id, "calls"), filter)

    def artifacts(self, id: str, /) -> list[Artifact]:
        """Returns the documents that the agents created, without their content."""
        request = Request("GET", path_of("tasks", id, "artifacts"))
        return cast("list[Artifact]", (self._http.json(request))["data"])

    def download(self, id: str, name: str, /) -> bytes:
        """Returns the content of an artifact."""
        path = path_of("tasks", id, "artifacts", name)
        return self._http.content(Request("GET", path, headers={"Accept": "*/*"}))

    def erase(self, id: str, /) -> None:
        """Deletes the stored data of an ended task, in Baton and in Temporal."""
        self._http.json(Request("DELETE", path_of("tasks", id)))

    def wait_for(
        self, id: str, /, *, until: Until = "ended", timeout: float | None = None, patience: float = _PATIENCE
    ) -> Task:
        """
        Waits until a task has ended, or until it meets the condition `until`. Returns the task at that time.

        - `timeout`: the maximum time to wait, in seconds. Default: no limit.
        - `patience`: how long an unreachable service is retried, in seconds.

        Raises `BatonTimeout` after `timeout`, or if the task has ended and cannot reach the awaited state, `BatonProblem`
        if the service rejects the request, and `BatonUnreachable` if the service has been unreachable for `patience`.
        """
        return wait_for_task(self._http, id, until=until, timeout=timeout, patience=patience)

    def follow(
        self,
        id: str,
        /,
        *,
        after: int = 0,
        patience: float = _PATIENCE,
        on_transport: Callable[[TransportName, str | None], None] | None = None,
        on_unreachable: Callable[[Exception], None] | None = None,
    ) -> Generator[FeedEvent, None, None]:
        """
        Yields every event after the `seq` in `after`, in order and once, to the last one.

        Uses server-sent events, and polling if streams are blocked. After a lost connection it reconnects and continues
        after the last event.

        - `patience`: how long an unreachable service is retried, in seconds.
        - `on_transport`: called when a connection is established, with the transport of the next events and why the
          previous connection ended. The reason is `None` for the first connection.
        - `on_unreachable`: called before each retry when the service does not respond.

        Raises `BatonProblem` if the service rejects the request, and `BatonUnreachable` if the service has been unreachable
        for `patience`. Raises `ValueError` if `after` is negative.
        """
        if after < 0:
            raise ValueError("after must not be negative.")
        return follow_feed(
            self._http,
            id,
            after=after,
            patience=patience,
            on_transport=on_transport,
            on_unreachable=on_unreachable,
        )

    def _control(self, action: str, id: str, **fields: str | None) -> Task:
        body = {name: value for name, value in fields.items() if value is not None}
        return cast("Task", self._http.json(post("tasks", id, action, body=body)))

    # The last method, since its name hides the type `list` in the annotations after it.
    def list(
        self, *, metadata: Mapping[str, str] | None = None, **filter: Unpack[TaskFilter]
    ) -> Listing[ListedTask]:
        """Lists tasks, newest first. `metadata` selects the tasks whose metadata has all these fields with equal texts."""
        fields = {f"metadata.{name}": value for name, value in (metadata or {}).items()}
        return Listing(self._http, path_of("tasks"), {**filter, **fields})
