"""
Redirects every URL in a request body to this machine, so that fuzzing sends nothing elsewhere. Repeats requests while a
dependency of the service is late, as its callers do.
"""

import os
import time

import requests
import schemathesis

HERE = os.environ["BATON_FUZZ_SEND_TO"]
# The ids of repeated requests, one in a line.
REPEATED = os.environ["BATON_FUZZ_REPEATED"]
ADDRESSES = ("url", "callback_url")
MOST_REPEATS = 4


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    for name in ADDRESSES:
        address = body.get(name)
        if isinstance(address, str) and address.lower().startswith(("http://", "https://")):
            body[name] = HERE + "/" + address.partition("://")[2].partition("/")[2]


def is_unavailable(response):
    """Whether a response is the documented one for a dependency that does not respond in time."""
    if response.status_code != 503 or "Retry-After" not in response.headers:
        return False
    try:
        return response.json()["code"] == "unavailable"
    except (ValueError, TypeError, KeyError):
        return False


class PatientAdapter(requests.adapters.HTTPAdapter):
    """Repeats a request that gets the response `unavailable`, a few times. The checks see only the last response."""

    def send(self, request, **options):
        response = super().send(request, **options)
        for _ in range(MOST_REPEATS):
            if not is_unavailable(response):
                break
            with open(REPEATED, "a") as file:
                file.write(response.headers["X-Request-Id"] + "\n")
            time.sleep(int(response.headers["Retry-After"]))
            response = super().send(request, **options)
        return response


# The name by which sessions create their adapters.
requests.sessions.HTTPAdapter = PatientAdapter

# No proxies and passwords of the environment, which a session looks up again for each request.
requests.sessions.get_environ_proxies = lambda url, no_proxy=None: {}
requests.sessions.get_netrc_auth = lambda url: None
