from __future__ import annotations

from collections.abc import Awaitable, Callable

from .._request import header_value

AsyncTokenSource = Callable[[], Awaitable[str]]
"""Returns a token of `POST /api/v1/tokens`. The client calls it first, and again whenever Baton rejects the last token."""


class AsyncCredentials:
    """Authenticates the requests of a client, by an API key or by tokens. Raises `ValueError` unless it has one of them."""

    def __init__(self, api_key: str | None, token: str | AsyncTokenSource | None) -> None:
        if (api_key is None) == (token is None):
            raise ValueError("Pass either api_key or token, not both.")
        self._source = token if callable(token) else None
        self._value: tuple[str, str] | None = None
        if api_key is not None:
            self._value = ("X-API-Key", header_value("api_key", api_key))
        elif isinstance(token, str):
            self._value = _bearer(token)

    async def header(self) -> tuple[str, str]:
        """Returns the name and value of the header that authenticates a request."""
        if self._value is None and self._source is not None:
            self._value = _bearer(await self._source())
        assert self._value is not None
        return self._value

    def discard(self, rejected: str) -> bool:
        """Discards a rejected credential. Returns true if a retry would use another one."""
        if self._source is None:
            return False
        # Another request may already have replaced it.
        if self._value is not None and self._value[1] == rejected:
            self._value = None
        return True


def _bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {header_value('token', token)}"
