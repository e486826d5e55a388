from __future__ import annotations

import random
from types import TracebackType
from typing import cast

import httpx
from typing_extensions import Self

from .._request import Request, base_url_of, path_of, post
from ..types import Token
from ._credentials import AsyncCredentials, AsyncTokenSource
from ._events import AsyncEvents
from ._http import AsyncHttp
from ._tasks import AsyncTasks
from ._webhooks import AsyncDeliveries, AsyncWebhooks

_TIMEOUT = 30.0
_RETRIES = 3
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""Each followed task holds a connection, so their number has no limit here. Baton limits the streams of a credential."""


class AsyncBaton:
    """
    A client of one Baton service.

    - `base_url`: the address of the service, for example `https://baton.example.com`.
    - `api_key`: an API key.
    - `token`: a token, or a function that returns one. Replaces `api_key`. The function is called again whenever Baton
      rejects the last token.
    - `timeout`: the longest silence of the service while it responds, in seconds.
    - `retries`: how often a request is retried after a transient failure, if repeating it is safe.
    - `http_client`: a client of httpx to use, for proxies or own certificates. The caller closes it.

    Raises `ValueError` if the options are invalid.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        token: str | AsyncTokenSource | None = None,
        timeout: float = _TIMEOUT,
        retries: int = _RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        if timeout <= 0 or retries < 0:
            raise ValueError("timeout must be positive, and retries must not be negative.")
        self._base_url = base_url_of(base_url)
        credentials = AsyncCredentials(api_key, token)
        self._own_client = httpx.AsyncClient(limits=_LIMITS) if http_client is None else None
        http = AsyncHttp(
            base_url=self._base_url,
            credentials=credentials,
            client=self._own_client or cast("httpx.AsyncClient", http_client),
            timeout=timeout,
            retries=retries,
            random=random.random,
        )
        self._http = http
        self.tasks: AsyncTasks = AsyncTasks(http)
        self.events: AsyncEvents = AsyncEvents(http)
        self.webhooks: AsyncWebhooks = AsyncWebhooks(http)
        self.deliveries: AsyncDeliveries = AsyncDeliveries(http)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections of this client."""
        if self._own_client is not None:
            await self._own_client.aclose()

    async def create_token(self) -> Token:
        """Creates a token for the project of the API key, to pass to a browser. It is valid for 15 minutes."""
        return cast("Token", await self._http.json(post("tokens", is_repeatable=True)))

    async def source_addresses(self) -> list[str]:
        """Returns the addresses from which Baton sends callbacks and deliveries."""
        response = await self._http.json(Request("GET", path_of("source-addresses")))
        return cast("list[str]", response["addresses"])
