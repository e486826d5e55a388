"""Verifies the signatures of callbacks and webhook deliveries. Needs no client."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Sequence
from re import fullmatch
from typing import Any, Literal, Protocol, cast

from ._errors import BatonError
from .types import CallbackPayload, WebhookPayload

__all__ = ["Headers", "SignatureError", "SignatureReason", "verify_callback", "verify_webhook"]

SignatureReason = Literal[
    "missing_signature",
    "malformed_signature",
    "mismatch",
    "missing_timestamp",
    "too_old",
    "too_new",
    "unexpected_body",
]
"""
Why a request is rejected. The values are stable.

- `missing_signature`: the request has no signature.
- `malformed_signature`: the format of the signature, of its timestamp or of its id is invalid.
- `mismatch`: the signature does not match the body, or was created with another secret.
- `missing_timestamp`: a signed timestamp is required, and the request has none.
- `too_old`: the request was signed longer ago than the tolerance allows.
- `too_new`: the signed timestamp is further in the future than the tolerance allows.
- `unexpected_body`: the signature is valid, but the body is not valid JSON with the expected fields.
"""

_SERVICE_HEADERS = ("x-service-signature", "x-service-signature-previous")
"""The second header is present while a secret is being rotated."""
_TOLERANCE = 300.0


class SignatureError(BatonError):
    """A request does not come from Baton, or is too old. Respond with 401 and ignore its content."""

    def __init__(self, reason: SignatureReason, message: str) -> None:
        super().__init__(reason, message)
        self.reason: SignatureReason = reason

    def __str__(self) -> str:
        return str(self.args[1])


class Headers(Protocol):
    """Request headers with names in any case: a dictionary, or the headers of a web framework or of `http.server`."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Returns the names and values."""
        ...


def verify_callback(body: bytes | str, headers: Headers, secret: str) -> CallbackPayload:
    """
    Verifies the signature of a callback and returns its payload.

    `body` is the body as received, before parsing. `secret` is the `callback_secret` in the response to the submission.

    Raises `SignatureError` if the request is not genuine, and `ValueError` if the secret is empty.
    """
    raw = _bytes_of(body)
    keys = _keys_of([secret])
    given = _lower_case(headers)
    if not _has_service_signature(given):
        raise SignatureError("missing_signature", "The request has no signature.")
    _check_service_signature(raw, given, keys)
    return cast("CallbackPayload", _parse(raw, ("execution_id", "status")))


def verify_webhook(
    body: bytes | str,
    headers: Headers,
    secret: str | Sequence[str],
    *,
    tolerance: float | None = _TOLERANCE,
    require_timestamp: bool = False,
    now: float | None = None,
) -> WebhookPayload:
    """
    Verifies the signatures of a delivery and returns its payload.

    Reads `X-Service-Signature`, `X-Service-Signature-Previous` while a secret is being rotated, and the headers of Standard
    Webhooks if the webhook sends them. Each of the two schemes that is present must match one of the secrets. Only Standard
    Webhooks sign the time of the attempt.

    - `body`: the body as received, before parsing.
    - `tolerance`: how far a signed time may differ from now, in seconds. `None` allows any time.
    - `require_timestamp`: rejects a request without a signed time, which protects against replayed requests. The webhook
      must have `standard_webhooks` enabled.
    - `now`: the time to compare with, in seconds since 1970. Default: the current time.

    Raises `SignatureError` if the request is not genuine, or if its signed time is out of range, and `ValueError` if a
    secret is empty or none is given.
    """
    raw = _bytes_of(body)
    keys = _keys_of([secret] if isinstance(secret, str) else secret)
    given = _lower_case(headers)
    is_standard = "webhook-signature" in given
    if not is_standard and not _has_service_signature(given):
        raise SignatureError("missing_signature", "The request has no signature.")
    if not is_standard and require_timestamp:
        raise SignatureError(
            "missing_timestamp", "A signed time is required, but the Standard Webhooks headers are missing."
        )
    if _has_service_signature(given):
        _check_service_signature(raw, given, keys)
    if is_standard:
        _check_standard_signature(raw, given, keys, tolerance, time.time() if now is None else now)
    return cast("WebhookPayload", _parse(raw, ("id", "event", "data")))


def _has_service_signature(headers: dict[str, str]) -> bool:
    return any(name in headers for name in _SERVICE_HEADERS)


def _check_service_signature(body: bytes, headers: dict[str, str], keys: Sequence[bytes]) -> None:
    values = [headers[name] for name in _SERVICE_HEADERS if name in headers]
    signatures = [bytes.fromhex(value[7:]) for value in values if fullmatch("sha256=[0-9a-f]{64}", value)]
    if not signatures:
        raise SignatureError(
            "malformed_signature", "X-Service-Signature must be sha256= followed by 64 lowercase hex digits."
        )
    if not _is_signed(body, signatures, keys):
        raise SignatureError("mismatch", "X-Service-Signature does not match the body and the secret.")


def _check_standard_signature(
    body: bytes, headers: dict[str, str], keys: Sequence[bytes], tolerance: float | None, now: float
) -> None:
    # Standard Webhooks 1.0.0. The signature covers the body, the id and the time of the attempt.
    message_id = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp", "")
    entries = headers["webhook-signature"].split(" ")
    signatures = [
        base64.b64decode(entry[3:]) for entry in entries if fullmatch("v1,[A-Za-z0-9+/]{43}=", entry)
    ]
    if message_id is None or not fullmatch("[0-9]{1,12}", timestamp) or not signatures:
        raise SignatureError(
            "malformed_signature", "The Standard Webhooks headers are incomplete or malformed."
        )
    if not _is_signed(f"{message_id}.{timestamp}.".encode("utf-8", "replace") + body, signatures, keys):
        raise SignatureError(
            "mismatch",
            "webhook-signature does not match the body, webhook-id, webhook-timestamp and the secret.",
        )
    age = now - int(timestamp)
    if tolerance is None or abs(age) <= tolerance:
        return
    if age > 0:
        raise SignatureError("too_old", f"webhook-timestamp is {round(age)} s in the past.")
    raise SignatureError("too_new", f"webhook-timestamp is {round(-age)} s in the future.")


def _is_signed(message: bytes, signatures: Sequence[bytes], keys: Sequence[bytes]) -> bool:
    """Returns true if one of the signatures matches the message and one of the keys. Compares in constant time."""
    expected = [hmac.new(key, message, hashlib.sha256).digest() for key in keys]
    # A list, not a generator: `any` would stop at the first match.
    return any([hmac.compare_digest(one, other) for one in expected for other in signatures])


def _keys_of(given: Sequence[str]) -> list[bytes]:
    # The key is the UTF-8 bytes of the secret, even if the secret looks like hex or base64.
    if not given:
        raise ValueError("No secret is given.")
    if not all(given):
        raise ValueError("The secret is empty.")
    return [secret.encode() for secret in given]


def _bytes_of(body: bytes | str) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body)


def _lower_case(headers: Headers) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _parse(body: bytes, fields: Sequence[str]) -> dict[str, Any]:
    try:
        value: Any = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and all(field in value for field in fields):
        return cast("dict[str, Any]", value)
    raise SignatureError(
        "unexpected_body", f"The body is not valid JSON with the fields {', '.join(fields)}."
    )
