# Generated from _async/_http.py by dev/docs/main.ts.
from __future__ import annotations

import time
import json
from collections.abc import Generator, Callable
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import httpx

from .._errors import BatonError, BatonProblem, BatonUnreachable, problem_of
from .._request import Request, query_string
from .._retry import retry_delay
from ._credentials import Credentials


class Http:
    """The HTTP client of one service."""

    def __init__(
        self,
        *,
        base_url: str,
        credentials: Credentials,
        client: httpx.Client,
        timeout: float,
        retries: int,
        random: Callable[[], float],
    ) -> None:
        self.base_url = base_url
        self.random = random
        self._credentials = credentials
        self._client = client
        self._timeout = timeout
        self._retries = retries

    def json(self, request: Request) -> Any:
        """
        Sends a request, retries it after transient failures, and returns the JSON of the response.

        Returns `None` if the body is empty. Raises `BatonProblem` or `BatonUnreachable`.
        """
        content = self.content(request)
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise BatonUnreachable(f"The response of {self.base_url} is not valid JSON.") from None

    def content(self, request: Request) -> bytes:
        """Does the same as `json`, and returns the bytes of the response."""
        retries = self._retries if request.retries is None else request.retries
        failures = 0
        while True:
            try:
                with self.open(request) as response:
                    return self._read(response)
            except BatonError as error:
                failures += 1
                is_repeatable = request.may_be_repeated
                delay = retry_delay(error, failures=failures, is_repeatable=is_repeatable, random=self.random)
                if failures > retries or delay is None:
                    raise
            time.sleep(delay)

    @contextmanager
    def open(
        self, request: Request, silence: float | None = None
    ) -> Generator[httpx.Response, None, None]:
        """
        Sends a request without retries, and opens the response with an unread body.

        `silence` replaces the client's time limit: it is the longest time between two parts of the response, in seconds.
        Raises the same errors as `json`.
        """
        limit = self._timeout + request.extra_seconds if silence is None else silence
        try:
            response = self._send(request, limit)
        except _TokenRejected:
            # The token may have just expired.
            response = self._send(request, limit, is_last=True)
        try:
            yield response
        finally:
            response.close()

    def _send(self, request: Request, limit: float, is_last: bool = False) -> httpx.Response:
        # Outside of the try block: a failure of the token source does not mean that Baton is unreachable.
        name, value = self._credentials.header()
        content_type = {} if request.body is None else {"Content-Type": "application/json"}
        outgoing = self._client.build_request(
            request.method,
            self.base_url + request.path + query_string(request.query),
            content=request.body,
            headers={"Accept": "application/json", **content_type, **request.headers, name: value},
            timeout=limit,
        )
        try:
            # The API never redirects. Another server must not receive the key.
            response = self._client.send(outgoing, stream=True, follow_redirects=False)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        finally:
            # Errors and responses refer to the request. Programs that log them must not show the credential.
            outgoing.headers.pop(name, None)
        if response.is_success:
            return response
        problem = self._problem_of(response)
        if problem.status == 401 and not is_last and self._credentials.discard(value):
            raise _TokenRejected
        raise problem

    def _problem_of(self, response: httpx.Response) -> BatonProblem:
        try:
            body: object = json.loads(self._read(response))
        except (ValueError, BatonUnreachable):
            body = None
        finally:
            response.close()
        now = datetime.now(timezone.utc)
        return problem_of(response.status_code, response.reason_phrase, response.headers, body, now)

    def _read(self, response: httpx.Response) -> bytes:
        try:
            return response.read()
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> BatonUnreachable:
        return BatonUnreachable(f"Baton at {self.base_url} did not respond: {error or type(error).__name__}")


class _TokenRejected(Exception):
    pass
