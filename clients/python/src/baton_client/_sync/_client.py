# Generated from _async/_client.py by dev/docs/main.ts.
from __future__ import annotations

import random
from types import TracebackType
from typing import cast

import httpx
from typing_extensions import Self

from .._request import Request, base_url_of, path_of, post
from ..types import Token
from ._credentials import Credentials, TokenSource
from ._events import Events
from ._http import Http
from ._tasks import Tasks
from ._webhooks import Deliveries, Webhooks

_TIMEOUT = 30.0
_RETRIES = 3
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""Each followed task holds a connection, so their number has no limit here. Baton limits the streams of a credential."""


class Baton:
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
        token: str | TokenSource | None = None,
        timeout: float = _TIMEOUT,
        retries: int = _RETRIES,
        http_client: httpx.Client | None = None,
    ) -> None:
        if timeout <= 0 or retries < 0:
            raise ValueError("timeout must be positive, and retries must not be negative.")
        self._base_url = base_url_of(base_url)
        credentials = Credentials(api_key, token)
        self._own_client = httpx.Client(limits=_LIMITS) if http_client is None else None
        http = Http(
            base_url=self._base_url,
            credentials=credentials,
            client=self._own_client or cast("httpx.Client", http_client),
            timeout=timeout,
            retries=retries,
            random=random.random,
        )
        self._http = http
        self.tasks: Tasks = Tasks(http)
        self.events: Events = Events(http)
        self.webhooks: Webhooks = Webhooks(http)
        self.deliveries: Deliveries = Deliveries(http)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections of this client."""
        if self._own_client is not None:
            self._own_client.close()

    def create_token(self) -> Token:
        """Creates a token for the project of the API key, to pass to a browser. It is valid for 15 minutes."""
        return cast("Token", self._http.json(post("tokens", is_repeatable=True)))

    def source_addresses(self) -> list[str]:
        """Returns the addresses from which Baton sends callbacks and deliveries."""
        response = self._http.json(Request("GET", path_of("source-addresses")))
        return cast("list[str]", response["addresses"])
