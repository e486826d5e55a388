"""Signatures of callbacks and deliveries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from email.message import Message
from typing import Any

import pytest

from baton_client import SignatureError, verify_callback, verify_webhook

# The secret looks like hex but is not ASCII, so it must not be decoded.
SECRET = "c0ffee-grün-€"
BODY = '{"id":"evt_1","event":"issue.updated","data":{"issue":{"id":"i-1","title":"Größe ✓"}}}'.encode()
NOW = 1_777_629_600


def digest(message: bytes, secret: str = SECRET) -> bytes:
    return hmac.new(secret.encode(), message, hashlib.sha256).digest()


def plain(body: bytes = BODY, secret: str = SECRET) -> dict[str, str]:
    return {"X-Service-Signature": f"sha256={digest(body, secret).hex()}"}


def standard(at: int = NOW, message_id: str = "d-1") -> dict[str, str]:
    signature = base64.b64encode(digest(f"d-1.{at}.".encode() + BODY)).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}


def reason(headers: dict[str, str], body: bytes = BODY, **options: Any) -> str:
    with pytest.raises(SignatureError) as caught:
        verify_webhook(body, headers, SECRET, now=NOW, **options)
    return caught.value.reason


def test_accepts_bytes_and_text_and_headers_of_every_kind() -> None:
    message = Message()
    message["x-SERVICE-signature"] = plain()["X-Service-Signature"]
    for headers in (plain(), {name.lower(): value for name, value in plain().items()}, message):
        for body in (BODY, BODY.decode()):
            assert verify_webhook(body, headers, SECRET) == json.loads(BODY)


def test_accepts_each_signature_of_a_rotation() -> None:
    previous = plain(secret="old")["X-Service-Signature"]
    headers = {**plain(), "X-Service-Signature-Previous": previous}
    for secret in (SECRET, "old", ["something else", "old"]):
        assert verify_webhook(BODY, headers, secret)["id"] == "evt_1"


VALID = plain()["X-Service-Signature"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "missing_signature"),
        (plain(secret="other"), "mismatch"),
        (plain(b"{}"), "mismatch"),
        ({"x-service-signature": ""}, "malformed_signature"),
        ({"x-service-signature": VALID[:20]}, "malformed_signature"),
        ({"x-service-signature": f"{VALID}\n"}, "malformed_signature"),
        ({"x-service-signature": VALID[7:]}, "malformed_signature"),
        ({"x-service-signature": f"sha256={VALID[7:].upper()}"}, "malformed_signature"),
        ({"x-service-signature": f"sha256={'é' * 64}"}, "malformed_signature"),
        ({"x-service-signature": f"sha256={'٣' * 64}"}, "malformed_signature"),
        ({**plain(), **standard(message_id="d-2")}, "mismatch"),
        ({**plain(secret="other"), **standard()}, "mismatch"),
        ({**standard(), "webhook-timestamp": str(NOW - 1)}, "mismatch"),
        ({**standard(), "webhook-timestamp": f"{NOW}\n"}, "malformed_signature"),
        ({"webhook-signature": "v1,x", "webhook-timestamp": "1"}, "malformed_signature"),
    ],
)
def test_rejects(headers: dict[str, str], expected: str) -> None:
    assert reason(headers) == expected


def test_rejects_a_signed_body_that_is_not_an_event() -> None:
    for body in (b"no JSON", b"[]", b"null", b'{"id":"evt_1"}', b"\xff\xfe", b"[" * 100_000):
        assert reason(plain(body), body) == "unexpected_body"


def test_rejects_signed_times_outside_the_tolerance() -> None:
    for seconds in (0, -300, 300):
        assert verify_webhook(BODY, standard(NOW + seconds), SECRET, now=NOW)
    assert reason(standard(NOW - 301)) == "too_old"
    assert reason(standard(NOW + 301)) == "too_new"
    assert reason(standard(NOW - 11), tolerance=10) == "too_old"
    assert verify_webhook(BODY, standard(NOW - 86_400), SECRET, now=NOW, tolerance=None)
    # The default is the current time.
    with pytest.raises(SignatureError, match="in the past"):
        verify_webhook(BODY, standard(), SECRET)


def test_can_require_a_signed_time() -> None:
    assert reason(plain(), require_timestamp=True) == "missing_timestamp"
    assert verify_webhook(BODY, {**plain(), **standard()}, SECRET, now=NOW, require_timestamp=True)


def test_a_callback_is_not_a_delivery() -> None:
    body = b'{"execution_id":"run-1","status":"escalated"}'
    assert verify_callback(body, plain(body), SECRET)["status"] == "escalated"
    with pytest.raises(SignatureError, match="execution_id"):
        verify_callback(BODY, plain(), SECRET)
    with pytest.raises(SignatureError, match="no signature"):
        verify_callback(body, {"webhook-signature": "v1,x"}, SECRET)


def test_raises_without_a_secret() -> None:
    for secrets in ("", [], ["a secret", ""]):
        with pytest.raises(ValueError, match="secret"):
            verify_webhook(BODY, plain(), secrets)
