from __future__ import annotations

from collections.abc import Callable

from ._errors import BatonProblem, BatonUnreachable

_FIRST_DELAY = 0.25
_MAX_DELAY = 8.0
_MAX_RETRY_AFTER = 60.0
"""The client does not wait for a longer `Retry-After`. It raises, and the caller decides."""

Random = Callable[[], float]
"""Returns numbers from 0 to 1."""


def is_transient(error: Exception) -> bool:
    """Returns true if the same request may succeed shortly after."""
    if isinstance(error, BatonUnreachable):
        return True
    return isinstance(error, BatonProblem) and (_was_not_processed(error) or error.status in (502, 503, 504))


def retry_delay(error: Exception, *, failures: int, is_repeatable: bool, random: Random) -> float | None:
    """
    Returns the delay before a request is retried, in seconds, or `None` if it is not retried.

    A request that may have had an effect is retried only if it `is_repeatable`. `failures` counts the failed attempts, at
    least one.
    """
    if not is_transient(error):
        return None
    problem = error if isinstance(error, BatonProblem) else None
    if not is_repeatable and not (problem and _was_not_processed(problem)):
        return None
    retry_after = (problem.retry_after if problem else None) or 0.0
    if retry_after > _MAX_RETRY_AFTER:
        return None
    return max(retry_after, backoff(failures, random))


def backoff(failures: int, random: Random) -> float:
    """
    Returns an exponential delay in seconds.

    It is random within the upper half of the range, so that clients do not retry at the same time.
    """
    upper_bound: float = min(_MAX_DELAY, _FIRST_DELAY * 2.0 ** min(failures - 1, 10))
    return upper_bound / 2 + random() * upper_bound / 2


class RetryWindow:
    """Decides how long and how often an unreachable service is retried. Starts with the first failure after a response."""

    def __init__(self, *, seconds: float, random: Random, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._random = random
        self._clock = clock
        self._failures = 0
        self._began = 0.0

    def reset(self) -> None:
        """Records a response of the service. The next failure starts a new window."""
        self._failures = 0

    def delay_after(self, error: Exception) -> float:
        """
        Records a failure and returns the delay before the next attempt, in seconds.

        Raises the error if it is neither transient nor an error of the server, or if the window is over.
        """
        if self._failures == 0:
            self._began = self._clock()
        self._failures += 1
        if not may_pass(error) or self._clock() - self._began >= self._seconds:
            raise error
        return backoff(self._failures, self._random)


def may_pass(error: Exception) -> bool:
    """
    Returns true if the same request may succeed later.

    Requests that only read, and events with ids, can be repeated even after a status 500.
    """
    return is_transient(error) or (isinstance(error, BatonProblem) and error.status >= 500)


def _was_not_processed(problem: BatonProblem) -> bool:
    """
    Returns true if the service did not process the request.

    Either the rate limit was exceeded, or an earlier request with the same idempotency key is still in progress.
    """
    is_in_progress = problem.status == 409 and problem.code == "conflict" and problem.retry_after is not None
    return problem.status == 429 or is_in_progress
