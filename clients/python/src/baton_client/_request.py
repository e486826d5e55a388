from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from re import fullmatch
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit


@dataclass(frozen=True)
class Request:
    """
    A request. After a transient failure it is retried if it is a GET, has an idempotency key, or is `is_repeatable`.

    `path` is the path below the base URL with encoded ids, see `path_of`. `body` is JSON text. `extra_seconds` are added to
    the client's time limit for a response.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_repeatable: bool = False
    retries: int | None = None
    extra_seconds: float = 0.0

    @property
    def may_be_repeated(self) -> bool:
        """Whether sending it twice has the same effect as sending it once."""
        return self.is_repeatable or self.method == "GET" or "Idempotency-Key" in self.headers


def post(
    *path: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    is_repeatable: bool = False,
    extra_seconds: float = 0.0,
) -> Request:
    """Returns a POST to a path below `/api/v1`, with `body` as JSON."""
    text = None if body is None else to_json(body)
    return Request("POST", path_of(*path), {}, text, headers or {}, is_repeatable, None, extra_seconds)


def idempotent(key: str | None) -> dict[str, str]:
    """
    Returns the headers of a request that can be retried safely. Default key: a new one for each call.

    Raises `ValueError` unless the key consists of 1 to 255 visible ASCII characters.
    """
    if key is not None and not fullmatch("[!-~]{1,255}", key):
        raise ValueError("idempotency_key must consist of 1 to 255 visible ASCII characters.")
    return {"Idempotency-Key": key or secrets.token_hex(16)}


def path_of(*parts: str) -> str:
    """
    Returns a path below `/api/v1` with each part encoded.

    Raises `ValueError` for an empty part, or one that a URL would resolve to another path.
    """
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"{part!r} is not a valid id or name.")
    return "/".join(["/api/v1", *(quote(part, safe="") for part in parts)])


def query_string(query: Mapping[str, object]) -> str:
    """Returns the query of a URL with its `?`, or an empty text. A list repeats the parameter, and `None` omits it."""
    items: list[tuple[str, str]] = []
    for name, value in query.items():
        values = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else [value]
        items.extend((name, _text_of(one)) for one in values if one is not None)
    return f"?{urlencode(items)}" if items else ""


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_json(value: object) -> str:
    """Returns compact JSON. Raises `ValueError` for numbers that JSON does not have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def base_url_of(text: str) -> str:
    """
    Returns the URL of a service without a slash at its end.

    Raises `ValueError` unless it is an absolute http or https URL without credentials, query and fragment.
    """
    url = urlsplit(text)
    if url.scheme not in ("https", "http") or not url.hostname:
        raise ValueError("base_url must start with https:// or http://.")
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise ValueError("base_url must not contain credentials, a query or a fragment.")
    _ = url.port  # Raises ValueError if it is not a number of a port.
    return f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"


def header_value(name: str, secret: str) -> str:
    """
    Returns a credential that can be sent in a header.

    Raises `ValueError` otherwise, without showing the credential. A frequent cause is a line break at the end of a file.
    """
    if not fullmatch("[!-~]+", secret):
        raise ValueError(f"{name} must consist of visible ASCII characters, without spaces or line breaks.")
    return secret
