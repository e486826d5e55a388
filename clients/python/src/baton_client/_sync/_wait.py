# Generated from _async/_wait.py by dev/docs/main.ts.
from __future__ import annotations

import time
from math import inf
from time import monotonic
from typing import cast

from .._errors import BatonProblem, BatonTimeout, BatonUnreachable
from .._request import Request, path_of
from .._retry import RetryWindow
from .._waiting import DELAY, ENDED_DELAY, Until, condition_of, is_ended, is_state_condition, wait_seconds
from ..types import Task
from ._http import Http


def wait_for_task(
    http: Http, id: str, *, until: Until, timeout: float | None, patience: float
) -> Task:
    """Waits for a condition with `Prefer: wait` (RFC 7240, section 4.3). Returns the task that meets it."""
    is_met = condition_of(until)
    deadline = inf if timeout is None else monotonic() + timeout
    window = RetryWindow(seconds=patience, random=http.random, clock=monotonic)
    # The first request does not wait, because the task may already meet the condition.
    seconds = 0
    while True:
        try:
            task = _fetch(http, id, seconds)
        except (BatonProblem, BatonUnreachable) as error:
            delay = window.delay_after(error)
        else:
            window.reset()
            if is_met(task):
                return task
            if is_ended(task["state"]) and is_state_condition(until):
                raise BatonTimeout(
                    f"The task {id} has ended with state {task['state']}. The awaited state cannot occur any more."
                )
            delay = ENDED_DELAY if is_ended(task["state"]) else DELAY
        time.sleep(max(0.0, min(delay, deadline - monotonic())))
        remaining = deadline - monotonic()
        if remaining <= 0:
            raise BatonTimeout(f"The task {id} did not meet the awaited condition within {timeout} s.")
        seconds = wait_seconds(until, remaining)


def _fetch(http: Http, id: str, seconds: int) -> Task:
    headers = {"Prefer": f"wait={seconds}"} if seconds > 0 else {}
    request = Request("GET", path_of("tasks", id), headers=headers, retries=0, extra_seconds=seconds)
    return cast("Task", http.json(request))
