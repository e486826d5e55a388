"""Which failures are retried, when, and for how long."""

from __future__ import annotations

import pickle
from datetime import datetime, timezone

import pytest

from baton_client import BatonError, BatonProblem, BatonUnreachable, EventsLeft, SignatureError
from baton_client._errors import parse_retry_after, problem_of
from baton_client._retry import RetryWindow, backoff, retry_delay

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=timezone.utc)


def problem(status: int, retry_after: float | None = None) -> BatonProblem:
    code = {409: "conflict", 429: "rate_limited", 503: "unavailable"}.get(status, "validation_failed")
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:.0f}"}
    return problem_of(status, "", headers, {"detail": "No.", "code": code, "title": "No"}, NOW)


@pytest.mark.parametrize(
    ("error", "repeatable", "other"),
    [
        (BatonUnreachable("gone"), 0.25, None),
        (problem(502), 0.25, None),
        (problem(503, 7), 7.0, None),
        # The service did not process the request, so every request can be retried.
        (problem(429, 3), 3.0, 3.0),
        (problem(409, 1), 1.0, 1.0),
        (problem(409), None, None),
        (problem(429, 61), None, None),
        (problem(422), None, None),
        (problem(500), None, None),
    ],
)
def test_delay_of_a_retry(error: BatonError, repeatable: float | None, other: float | None) -> None:
    assert retry_delay(error, failures=1, is_repeatable=True, random=lambda: 1.0) == repeatable
    assert retry_delay(error, failures=1, is_repeatable=False, random=lambda: 1.0) == other


def test_delays_grow_up_to_a_limit() -> None:
    assert [backoff(failures, lambda: 0.0) for failures in (1, 2, 3, 9, 10_000)] == [
        0.125,
        0.25,
        0.5,
        4.0,
        4.0,
    ]


def test_a_retry_window_starts_with_the_first_failure_after_a_response() -> None:
    time = 0.0
    window = RetryWindow(seconds=60, random=lambda: 0.0, clock=lambda: time)
    error = BatonUnreachable("gone")
    for time in (100.0, 159.0):
        window.delay_after(error)
    window.reset()
    for time in (200.0, 259.0):
        window.delay_after(error)
    time = 260.0
    with pytest.raises(BatonUnreachable):
        window.delay_after(error)


def test_a_retry_window_raises_what_a_retry_cannot_change() -> None:
    window = RetryWindow(seconds=60, random=lambda: 0.0, clock=lambda: 0.0)
    assert window.delay_after(problem(500)) > 0
    with pytest.raises(BatonProblem):
        window.delay_after(problem(422))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("12", 12.0),
        ("Fri, 01 May 2026 10:00:30 GMT", 30.0),
        ("Fri, 01 May 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("٣", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_a_response_of_another_server_is_an_unknown_problem() -> None:
    bodies: list[object] = [None, ["text"], "text", {"detail": "No code"}]
    for body in bodies:
        found = problem_of(502, "Bad Gateway", {"x-request-id": "r-1"}, body, NOW)
        assert (found.code, found.title, found.errors, found.request_id) == (
            "unknown",
            "Bad Gateway",
            [],
            "r-1",
        )
        assert (
            str(found)
            == "The response has status 502 and does not come from Baton. (502 unknown, request r-1)"
        )


def test_errors_can_be_pickled() -> None:
    errors = [
        problem(429, 3),
        EventsLeft([], []),
        SignatureError("mismatch", "No."),
        BatonUnreachable("gone"),
    ]
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
