"""The parser of event streams, batches of events, paths and options."""

from __future__ import annotations

from typing import Any

import pytest

from baton_client import AsyncBaton, Baton, OutgoingEvent, is_settled
from baton_client._batches import split_into_batches, with_id
from baton_client._request import idempotent, path_of, query_string
from baton_client._sse import EventStreamParser
from baton_client._waiting import wait_seconds

STREAM = ': connected\n\nid: 1\ndata: {"a":\ndata: "é\u2028"}\n\ndata\n\n: still here\n\ndata: 3\n\ndata: incomplete'


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_a_stream_can_be_split_anywhere(line_end: str, size: int) -> None:
    parser = EventStreamParser()
    raw = STREAM.replace("\n", line_end).encode()
    found = [data for at in range(0, len(raw), size) for data in parser.feed(raw[at : at + size])]
    assert found == ['{"a":\n"é\u2028"}', "", "3"]


def event(number: int, size: int = 0) -> OutgoingEvent:
    return {"id": f"evt_{number}", "event": "user.joined", "data": {"user": {"id": "u", "name": "é" * size}}}


def test_batches_fit_into_a_request() -> None:
    assert [len(batch) for batch in split_into_batches([event(n) for n in range(1_001)])] == [500, 500, 1]
    large = [event(n, 200_000) for n in range(5)]
    assert [len(batch) for batch in split_into_batches(large)] == [2, 2, 1]
    assert [len(batch) for batch in split_into_batches([event(0), event(1, 600_000), event(2)])] == [1, 1, 1]
    assert list(split_into_batches([])) == []


def test_an_event_without_an_id_gets_one() -> None:
    assert with_id(event(1)) == event(1)
    given: OutgoingEvent = {"event": "user.joined", "data": {}}
    assert with_id(given).get("id") != with_id(given).get("id")


def test_paths_are_encoded() -> None:
    assert path_of("tasks", "a/b c", "ü?") == "/api/v1/tasks/a%2Fb%20c/%C3%BC%3F"
    for part in ("", ".", ".."):
        with pytest.raises(ValueError, match="not a valid id"):
            path_of("tasks", part)


def test_queries_repeat_lists_and_omit_none() -> None:
    assert query_string({"a": None}) == ""
    assert query_string({"a": ["x", "y z"], "b": True, "n": 3, "c": None}) == "?a=x&a=y+z&b=true&n=3"


def test_a_wait_fits_into_the_remaining_time() -> None:
    assert [wait_seconds("ended", left) for left in (0.2, 5.9, float("inf"))] == [1, 5, 60]
    assert (wait_seconds("paused", 100), wait_seconds(["paused"], 100), wait_seconds(is_settled, 100)) == (
        2,
        2,
        2,
    )


@pytest.mark.parametrize("client", [Baton, AsyncBaton])
@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("ftp://example.com", {"api_key": "k"}, "https://"),
        ("example.com", {"api_key": "k"}, "https://"),
        ("https://me:hidden@example.com", {"api_key": "k"}, "credentials"),
        ("https://example.com?a=b", {"api_key": "k"}, "query"),
        ("https://example.com:port", {"api_key": "k"}, "port"),
        ("https://example.com", {}, "either"),
        ("https://example.com", {"api_key": "k", "token": "t"}, "either"),
        ("https://example.com", {"api_key": "hidden\n"}, "api_key"),
        ("https://example.com", {"token": "hidden é"}, "token"),
        ("https://example.com", {"api_key": "k", "timeout": 0}, "timeout"),
        ("https://example.com", {"api_key": "k", "retries": -1}, "retries"),
    ],
)
def test_options_are_checked_without_showing_secrets(
    client: type[Baton | AsyncBaton], url: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        client(url, **options)
    assert "hidden" not in str(caught.value)


def test_a_task_is_followed_after_an_event() -> None:
    for client in (Baton, AsyncBaton):
        with pytest.raises(ValueError, match="after"):
            client("https://example.com", api_key="k").tasks.follow("run-1", after=-1)


def test_idempotency_keys_are_checked() -> None:
    assert idempotent("a key"[:1]) == {"Idempotency-Key": "a"}
    for key in ("", "two words", "é", "line\n", "x" * 256):
        with pytest.raises(ValueError, match="idempotency_key"):
            idempotent(key)
