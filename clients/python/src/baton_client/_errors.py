from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from re import fullmatch
from typing import Any, Literal, cast

from ._types import ProblemError
from ._vocabulary import PROBLEM_CODES, ProblemCode
from .types import OutgoingEvent, TakenEvent


class BatonError(Exception):
    """The base of all errors of this package."""


class BatonProblem(BatonError):
    """Baton rejected the request (RFC 9457)."""

    def __init__(
        self,
        status: int,
        code: ProblemCode | Literal["unknown"],
        title: str,
        detail: str,
        errors: Sequence[ProblemError] = (),
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(status, code, title, detail, errors, request_id, retry_after)
        self.status: int = status
        """The HTTP status."""
        self.code: ProblemCode | Literal["unknown"] = code
        """A stable code. `unknown` if the response does not come from Baton, for example from a proxy."""
        self.title: str = title
        self.detail: str = detail
        """A text for people."""
        self.errors: Sequence[ProblemError] = errors
        """All errors in the request body and parameters. Empty if the request was rejected for another reason."""
        self.request_id: str | None = request_id
        """The id of this request in the log of the service. `None` if the response has none."""
        self.retry_after: float | None = retry_after
        """The delay before the next attempt, in seconds. `None` if the response does not specify one."""

    def __str__(self) -> str:
        request = "" if self.request_id is None else f", request {self.request_id}"
        return f"{self.detail} ({self.status} {self.code}{request})"


class BatonUnreachable(BatonError):
    """No response arrived: the network or the service is down, or the time limit was exceeded."""


class BatonTimeout(BatonError):
    """The awaited condition was not met in time, or cannot be met any more. The run itself is not affected."""


class EventsLeft(BatonError):
    """
    Baton did not confirm all events.

    A request failed after an earlier one succeeded, or no request succeeded and this client generated ids. `taken` has the
    accepted events, and `__cause__` is the error. To continue, send the events in `left` again: they have ids, so Baton
    stores none of them twice.
    """

    def __init__(self, taken: Sequence[TakenEvent], left: Sequence[OutgoingEvent]) -> None:
        super().__init__(taken, left)
        self.taken: Sequence[TakenEvent] = taken
        self.left: Sequence[OutgoingEvent] = left

    def __str__(self) -> str:
        return f"Baton confirmed {len(self.taken)} events. {len(self.left)} are left."


class TransportFailed(Exception):
    """
    A transport of a task's events failed. The service itself may still be reachable.

    `is_permanent` is true if the transport cannot work here at all, so that a retry is useless.
    """

    def __init__(self, message: str, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent: bool = is_permanent


def problem_of(
    status: int, reason: str, headers: Mapping[str, str], body: object, now: datetime
) -> BatonProblem:
    """Returns the problem of a response. `body` is its parsed JSON, or anything else if it has none."""
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    known = "detail" in fields and "code" in fields
    code = fields.get("code")
    detail = (
        str(fields["detail"]) if known else f"The response has status {status} and does not come from Baton."
    )
    return BatonProblem(
        status,
        code if known and code in PROBLEM_CODES else "unknown",
        str(fields.get("title", reason)) if known else reason,
        detail,
        cast("list[ProblemError]", fields.get("errors") or []) if known else [],
        str(fields["request_id"]) if known and "request_id" in fields else headers.get("x-request-id"),
        parse_retry_after(headers.get("retry-after"), now),
    )


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """
    Returns the delay of a `Retry-After` header in seconds (RFC 9110, section 10.2.3).

    Returns `None` if the value is neither seconds nor a date.
    """
    if value is None:
        return None
    if fullmatch("[0-9]{1,9}", value.strip()):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - now).total_seconds())
