"""Receives webhook deliveries and verifies their signatures, without dependencies.

    WEBHOOK_SECRET=... PORT=8080 python3 receiver.py        (Python 3.9 or newer)

It listens on HOST (default: 127.0.0.1). It responds with 204 to genuine deliveries and with 401 to others.
"""

import hashlib
import hmac
import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "").encode("utf-8")
MAX_BODY_BYTES = 4 * 1024 * 1024
REMEMBERED = 100_000

# Accepted deliveries, oldest first. In production, use a table with a unique column instead.
accepted: dict[str, None] = {}
accepted_lock = threading.Lock()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A sender that stops during a request must not block a thread forever.
    timeout = 30

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return self.answer(413 if length.isdigit() else 411)
        # The signature covers the raw bytes.
        body = self.rfile.read(int(length))
        if not self.is_genuine(body):
            return self.answer(401)
        try:
            event = json.loads(body)
        except ValueError:
            return self.answer(400)
        delivery = self.headers.get("X-Service-Delivery", "")
        if keep(delivery):
            print(f"event {event['event']} {event['id']} of {event['timestamp']} in delivery {delivery}", flush=True)
        else:
            print(f"again {delivery}", flush=True)
        # Respond as soon as the event is stored, and process it afterwards.
        self.answer(204)

    def is_genuine(self, body: bytes) -> bool:
        """During the rotation of a secret, the second header contains the signature made with the old secret."""
        expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        given = [self.headers.get(name, "") for name in ("X-Service-Signature", "X-Service-Signature-Previous")]
        return any([hmac.compare_digest(expected.encode(), one.encode("latin-1", "replace")) for one in given])

    def answer(self, status: int) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Omits the line for each request."""


def keep(delivery: str) -> bool:
    """Returns False if the delivery was accepted before."""
    with accepted_lock:
        if delivery in accepted:
            return False
        accepted[delivery] = None
        if len(accepted) > REMEMBERED:
            del accepted[next(iter(accepted))]
        return True


if __name__ == "__main__":
    if not SECRET:
        sys.exit("Set WEBHOOK_SECRET to the secret of your webhook")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    address = (os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080")))
    server = ThreadingHTTPServer(address, Receiver)
    server.daemon_threads = True
    print(f"listening at http://{address[0]}:{server.server_port}", flush=True)
    server.serve_forever()
