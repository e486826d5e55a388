"""Requests to a server that answers as the tests specify."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import httpx
import pytest

from baton_client import (
    AsyncBaton,
    Baton,
    BatonError,
    BatonProblem,
    BatonUnreachable,
    EventsLeft,
    OutgoingEvent,
)

KEY = "bt_12345678_this-must-stay-hidden"
SUBMITTED = {"execution_id": "run-1", "callback_secret": "s"}


class Answer(NamedTuple):
    status: int
    content: Any = {}
    headers: dict[str, str] = {}


LOST = Answer(0)
UNAUTHENTICATED = Answer(401, {"detail": "No.", "code": "unauthenticated"})


class Server:
    """Returns the queued answers, then 200 with `{}`, and stores the requests."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                lower = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append((f"{self.command} {self.path}", lower, body))
                status, content, headers = server.answers.pop(0) if server.answers else Answer(200)
                if status == LOST.status:
                    self.close_connection = True
                    return
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def baton(server: Server) -> Iterator[Baton]:
    with Baton(server.url, api_key=KEY) as baton:
        yield baton


def test_a_submission_is_retried_with_the_same_key(server: Server, baton: Baton) -> None:
    server.answers = [Answer(503, "busy"), LOST, Answer(201, SUBMITTED)]
    assert baton.tasks.submit(title="A task", project_id="p-1")["execution_id"] == "run-1"
    keys = {headers["idempotency-key"] for _, headers, _ in server.requests}
    assert (len(server.requests), len(keys)) == (3, 1)
    assert {body for _, _, body in server.requests} == {b'{"title":"A task","project_id":"p-1"}'}


def test_a_pause_is_retried_only_if_it_was_not_processed(server: Server, baton: Baton) -> None:
    server.answers = [Answer(429, "slow down", {"Retry-After": "0"}), Answer(502, "gone")]
    with pytest.raises(BatonProblem) as caught:
        baton.tasks.pause("run-1", reason="lunch")
    assert (caught.value.status, caught.value.code, len(server.requests)) == (502, "unknown", 2)


def test_retries_end(server: Server) -> None:
    server.answers = [Answer(502, "gone")] * 5
    with Baton(server.url, api_key=KEY, retries=1) as baton, pytest.raises(BatonProblem):
        baton.tasks.get("run-1")
    assert len(server.requests) == 2


def test_redirects_are_not_followed(server: Server, baton: Baton) -> None:
    server.answers = [Answer(302, "", {"Location": f"{server.url}/elsewhere"})]
    with pytest.raises(BatonProblem, match="302"):
        baton.tasks.get("run-1")
    assert len(server.requests) == 1


def test_a_rejected_token_is_replaced_once(server: Server) -> None:
    tokens = iter(["first", "second", "third"])
    with Baton(server.url, token=lambda: next(tokens)) as baton:
        server.answers = [Answer(200), UNAUTHENTICATED, Answer(200), UNAUTHENTICATED, UNAUTHENTICATED]
        baton.tasks.get("run-1")
        baton.tasks.pause("run-1")
        with pytest.raises(BatonProblem, match="unauthenticated"):
            baton.tasks.pause("run-1")
    sent = [headers["authorization"].removeprefix("Bearer ") for _, headers, _ in server.requests]
    assert sent == ["first", "first", "second", "second", "third"]


def test_the_events_that_are_left_can_be_sent_again(server: Server, baton: Baton) -> None:
    server.answers = [accepted(500), Answer(422, "no")]
    with pytest.raises(EventsLeft) as caught:
        baton.events.send(joined(501))
    assert len(caught.value.taken) == 500
    sent = json.loads(server.requests[1][2])["events"]
    assert (list(caught.value.left), isinstance(caught.value.__cause__, BatonProblem)) == (sent, True)


def joined(count: int) -> list[OutgoingEvent]:
    return [{"event": "user.joined", "data": {}} for _ in range(count)]


def accepted(count: int) -> Answer:
    return Answer(202, {"data": [{"id": f"evt_{number}", "duplicate": False} for number in range(count)]})


@pytest.mark.parametrize("value", [float("nan"), datetime.now(timezone.utc), "\ud800"])
def test_nothing_is_sent_if_a_later_event_cannot_be_serialized(
    server: Server, baton: Baton, value: object
) -> None:
    wrong: OutgoingEvent = {"event": "user.joined", "data": {"user": value}}
    with pytest.raises((TypeError, ValueError)):
        baton.events.send([*joined(501), wrong])
    assert server.requests == []


@pytest.mark.parametrize("answer", [LOST, Answer(500), Answer(503), Answer(429)])
def test_the_generated_ids_are_returned_if_no_request_succeeds(server: Server, answer: Answer) -> None:
    server.answers = [answer, answer]
    with Baton(server.url, api_key=KEY, retries=0) as baton:
        with pytest.raises(EventsLeft) as many:
            baton.events.send(joined(501))
        with pytest.raises(EventsLeft) as one:
            baton.events.send(joined(1)[0])
    assert (many.value.taken, len(many.value.left), one.value.taken) == ([], 501, [])
    assert list(many.value.left[:500]) == json.loads(server.requests[0][2])["events"]
    assert all("id" in event for event in many.value.left)
    assert list(one.value.left) == [json.loads(server.requests[1][2])]
    assert isinstance(many.value.__cause__, BatonError)


def test_other_errors_of_the_first_request_are_raised_unchanged(server: Server) -> None:
    server.answers = [LOST, Answer(401), Answer(403), Answer(422)]
    with Baton(server.url, api_key=KEY, retries=0) as baton:
        with pytest.raises(BatonUnreachable):
            baton.events.send([{**event, "id": "own-id"} for event in joined(1)])
        for status in (401, 403, 422):
            with pytest.raises(BatonProblem, match=str(status)):
                baton.events.send(joined(2))


def test_the_events_are_left_if_the_token_source_fails(server: Server) -> None:
    server.answers = [accepted(500), UNAUTHENTICATED]
    tokens = ["token"]

    def token() -> str:
        if not tokens:
            raise OSError("no token")
        return tokens.pop()

    with Baton(server.url, token=token) as baton:
        with pytest.raises(EventsLeft) as caught:
            baton.events.send(joined(501))
    assert (len(caught.value.taken), len(caught.value.left)) == (500, 1)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_cancelled_call_stays_cancelled() -> None:
    async def send() -> None:
        is_waiting = asyncio.Event()

        async def answer(request: httpx.Request) -> httpx.Response:
            if len(json.loads(request.content)["events"]) == 500:
                return httpx.Response(202, json=accepted(500).content)
            is_waiting.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client:
            baton = AsyncBaton("http://localhost", api_key=KEY, http_client=http_client)
            sending = asyncio.create_task(baton.events.send(joined(501)))
            await is_waiting.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending

    asyncio.run(send())


def test_a_page_is_requested_only_when_its_rows_are_read(server: Server, baton: Baton) -> None:
    first = Answer(200, {"data": [{"execution_id": "1"}, {"execution_id": "2"}], "next_cursor": "c"})
    server.answers = [first, first, Answer(200, {"data": [], "next_cursor": None})]
    tasks = baton.tasks.list(state=["failed", "escalated"], metadata={"order": "A-17"})
    assert len(server.requests) == 0
    assert len(tasks.take(2)) == 2
    assert [task["execution_id"] for task in tasks] == ["1", "2"]
    query = "GET /api/v1/tasks?state=failed&state=escalated&metadata.order=A-17"
    assert [line for line, _, _ in server.requests] == [query, query, f"{query}&cursor=c"]


def test_secrets_are_in_no_error_and_no_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.answers = [LOST, UNAUTHENTICATED]
    with Baton(server.url, api_key=KEY, retries=0) as baton:
        with pytest.raises(BatonUnreachable) as unreachable:
            baton.tasks.get("run-1")
        with pytest.raises(BatonProblem) as problem:
            baton.tasks.get("run-1")
    assert all(headers["x-api-key"] == KEY for _, headers, _ in server.requests)
    cause = unreachable.value.__cause__
    assert isinstance(cause, httpx.TransportError)
    errors = [unreachable.value, cause, cause.request.headers, problem.value]
    assert KEY not in " ".join([repr(baton), *map(repr, errors), *map(str, errors), caplog.text])
    assert "HTTP Request" in caplog.text


def stream(*seqs: int) -> Answer:
    text = "".join(f'data: {{"seq":{seq},"type":"agent.message"}}\n\n' for seq in seqs)
    return Answer(200, text.encode(), {"Content-Type": "text/event-stream"})


def test_a_followed_task_has_no_gaps_and_no_repeats(server: Server, baton: Baton) -> None:
    def task(state: str) -> Answer:
        return Answer(200, {"state": state, "last_seq": 5, "callback": {"status": "none"}})

    events = Answer(200, {"data": [{"seq": 4}, {"seq": 5}]})
    running = task("executing")
    server.answers = [stream(1, 2), running, stream(2, 3), running, stream(5), events, task("completed")]
    used: list[str] = []
    followed = baton.tasks.follow("run-1", on_transport=lambda name, reason: used.append(f"{name}: {reason}"))
    assert [event["seq"] for event in followed] == [1, 2, 3, 4, 5]
    ended = "stream: The connection ended before the task did."
    assert used == ["stream: None", ended, ended, "polling: The event stream skipped an event."]
    last_seen = [headers.get("last-event-id") for line, headers, _ in server.requests if "events" in line]
    assert (last_seen, server.requests[-2][0]) == (
        ["0", "2", "3", None],
        "GET /api/v1/tasks/run-1/events?after=3",
    )
