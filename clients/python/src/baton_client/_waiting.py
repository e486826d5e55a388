from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ._vocabulary import MAX_WAIT_SECONDS, TERMINAL_STATES, TaskState
from .types import Task

Until = Literal["ended", "settled"] | TaskState | Sequence[TaskState] | Callable[[Task], bool]
"""
The condition to wait for. `ended`: the task has ended. `settled`: the task has ended, and its callback was delivered or
given up. A state, or one of several states. A function that returns true for the awaited task.
"""

ENDED_DELAY = 0.5
DELAY = 0.05
"""The delay between two requests for an ended task, for which the service does not hold a request, and for other tasks."""
_SHORT_WAIT = 2
"""A task can enter and leave a state between two requests. Short waits make it less likely to miss the state."""


def is_ended(state: TaskState) -> bool:
    """Returns true for the states that a task never leaves."""
    return state in TERMINAL_STATES


def is_settled(task: Task) -> bool:
    """Returns true if the task has ended and its callback, if any, was delivered or given up."""
    return is_ended(task["state"]) and task["callback"]["status"] != "pending"


def condition_of(until: Until) -> Callable[[Task], bool]:
    """Returns the function that decides whether a task meets the condition."""
    if callable(until):
        return until
    if until == "ended":
        return lambda task: is_ended(task["state"])
    if until == "settled":
        return is_settled
    states = [until] if isinstance(until, str) else until
    return lambda task: task["state"] in states


def is_state_condition(until: Until) -> bool:
    """Returns true if only the state decides. An ended task that does not meet such a condition never will."""
    return not callable(until) and until != "settled"


def wait_seconds(until: Until, remaining: float) -> int:
    """Returns how long the service may hold the next request."""
    longest = MAX_WAIT_SECONDS if until in ("ended", "settled") else _SHORT_WAIT
    return max(1, int(min(longest, remaining)))
