"""
Uses every method of the Python client as a program does.

`python.long.ts` installs the package, runs this program and its synchronous form, and disturbs the connections. It reads a
line for each report, and answers those that ask for something.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import aclosing
from typing import Any

import httpx

from baton_client import (
    AsyncBaton,
    BatonProblem,
    BatonUnreachable,
    FeedEvent,
    verify_callback,
    verify_webhook,
)

URL = os.environ["BATON_URL"]
KEY = os.environ["BATON_API_KEY"]
PROJECT = os.environ["BATON_PROJECT"]
RECEIVER = os.environ["RECEIVER_URL"]
SECRET = "c0ffee-grün-€"


def report(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def ask(**fields: object) -> Any:
    """Reports something and returns the answer of the test."""
    report(**fields)
    return json.loads(sys.stdin.readline())


async def run(baton: AsyncBaton) -> None:
    """A run over connections that break at each change of its state."""
    key = f"story-{os.getpid()}"
    secrets: dict[str, str] = {}
    for _ in range(2):
        submitted = await baton.tasks.submit(
            title="A story",
            project_id=PROJECT,
            callback_url=RECEIVER,
            metadata={
                "order": key,
                "rehearsal": {
                    "steps": 3,
                    "progress_events": 3,
                    "ask": {"step": 2, "question": "Which?"},
                    "artifact": {"step": 3, "name": "größe 1.md", "text": "# Größe"},
                },
            },
            idempotency_key=key,
        )
        secrets[submitted["execution_id"]] = submitted["callback_secret"]
    (id,) = secrets

    events: list[FeedEvent] = []
    transports: list[str] = []
    async with (
        AsyncBaton(os.environ["RELAY_URL"], api_key=KEY) as follower,
        aclosing(follower.tasks.follow(id, on_transport=lambda name, _: transports.append(name))) as followed,
    ):
        async for event in followed:
            events.append(event)
            if event["type"] != "state.changed":
                continue
            data = event["data"]
            ask(cut=data["to"])
            if "question" in data:
                answered = await baton.tasks.continue_(id, reason="This", question=data["question"].get("id"))
                # The response shows the new state only if it is recorded in time.
                task = await baton.tasks.wait_for(id, until=lambda task: task["state"] != "paused")
                report(answered=[answered["execution_id"] == id, task["state"] in ("executing", "completed")])
    report(events=events, transports=transports)

    task = await baton.tasks.wait_for(id, until="settled")
    request = ask(callback=id)
    callback = verify_callback(request["body"], request["headers"], secrets[id])
    attempts = await baton.tasks.callbacks(id)
    report(ended=[task["state"], callback["status"], callback["output"] == task["output"], len(attempts)])

    artifacts = await baton.tasks.artifacts(id)
    content = await baton.tasks.download(id, artifacts[0]["name"])
    listed = [task async for task in baton.tasks.list(metadata={"order": key}, state=["completed"])]
    calls = await baton.tasks.calls(id, kind="model").take(5)
    report(read=[content.decode(), [task["execution_id"] for task in listed] == [id], calls])
    report(resumed=[event["seq"] async for event in baton.tasks.follow(id, after=len(events) - 2)])


async def control(baton: AsyncBaton) -> None:
    """A run that is paused, continued, cancelled, rerun and erased."""
    slow = {"rehearsal": {"step_ms": 60_000}}
    submitted = await baton.tasks.submit(title="Slowly", project_id=PROJECT, metadata=slow)
    id = submitted["execution_id"]
    await baton.tasks.wait_for(id, until="executing")
    async with AsyncBaton(os.environ["RELAY_URL"], api_key=KEY) as follower:
        async with aclosing(follower.tasks.follow(id)) as followed:
            async for _ in followed:
                break
        ask(stopped="following")
    # The response to an action shows the new state only if it is recorded in time.
    await baton.tasks.pause(id, reason="lunch")
    states = [(await baton.tasks.wait_for(id, until="paused"))["state"]]
    await baton.tasks.continue_(id)
    states.append((await baton.tasks.wait_for(id, until="executing"))["state"])
    await baton.tasks.cancel(id, reason="enough")
    states.append((await baton.tasks.wait_for(id))["state"])
    again = await baton.tasks.rerun(id)
    await baton.tasks.cancel(again["execution_id"])
    await baton.tasks.wait_for(again["execution_id"])
    await baton.tasks.erase(id)
    refused: list[object] = []
    for call in (
        lambda: baton.tasks.get(id),
        lambda: baton.tasks.retry_callback(again["execution_id"]),
        lambda: baton.tasks.rerun(again["execution_id"], answer="There was no question."),
    ):
        try:
            await call()
        except BatonProblem as problem:
            refused.append([problem.status, problem.code, problem.request_id is not None])
    report(states=states, rerun_of=again["rerun_of"] == id, refused=refused)


async def webhook(baton: AsyncBaton) -> None:
    """A webhook whose deliveries are verified and retried."""
    created = await baton.webhooks.create(
        name="Story",
        url=RECEIVER,
        secret=SECRET,
        standard_webhooks=True,
        events=[{"event": "issue.updated", "filters": [{"field": "status", "changed_to": "Done"}]}],
    )
    id = created["id"]
    issue = {"id": "iss_1", "key": "SHOP-1", "status": "Done", "title": "Größe ✓"}
    changes = [{"field": "status", "old_value": "To Do", "new_value": "Done"}]
    sent = await baton.events.send({"event": "issue.updated", "data": {"issue": issue, "changes": changes}})
    request = ask(delivery=id)
    payload = verify_webhook(
        request["body"].encode(), request["headers"], ["another", SECRET], require_timestamp=True
    )
    assert payload["event"] == "issue.updated"
    report(payload=[payload["id"] == sent["id"], payload["data"]["issue"].get("title")])

    (delivery,) = await baton.deliveries.list(id, event=["issue.updated"]).take(2)
    await baton.deliveries.retry(delivery["id"])
    ask(retried=delivery["id"])
    detail = await baton.deliveries.get(delivery["id"])
    report(attempts=[attempt["trigger"] for attempt in detail["attempts"]])

    many = await baton.events.send(
        [{"event": "user.joined", "data": {"user": {"id": f"u{n}"}}} for n in range(600)]
    )
    await baton.webhooks.rotate_secret(id, overlap_hours=0)
    tested = await baton.webhooks.test(id, event="issue.updated")
    await baton.webhooks.change(id, active=False)
    recovered = await baton.webhooks.recover(id, since="2026-01-01T00:00:00Z", count_only=True)
    preview = await baton.webhooks.preview(id, limit=5)
    stats = await baton.webhooks.stats(id, hours=1)
    report(
        many=len(many),
        tested=tested["response"] and tested["response"]["status"],
        state=(await baton.webhooks.get(id))["status"],
        recovered=recovered["count"],
        previewed=len(preview["data"]) > 0,
        stats=stats["failed"],
    )
    await baton.webhooks.delete(id)
    report(
        left=[webhook["id"] async for webhook in baton.webhooks.list() if webhook["id"] == id],
        kinds=len(await baton.events.types()),
        addresses=await baton.source_addresses(),
    )


async def polling(baton: AsyncBaton) -> None:
    """A run behind a proxy that replaces streams, followed with a token."""
    submitted = await baton.tasks.submit(
        title="Polled", project_id=PROJECT, metadata={"rehearsal": {"steps": 2, "step_ms": 50}}
    )
    token = (await baton.create_token())["token"]

    async def source() -> str:
        return token

    async def replace_streams(response: httpx.Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.headers["content-type"] = "text/html"

    transports: list[str] = []
    async with httpx.AsyncClient(event_hooks={"response": [replace_streams]}) as http_client:
        reader = AsyncBaton(URL, token=source, http_client=http_client)
        followed = reader.tasks.follow(
            submitted["execution_id"], on_transport=lambda name, _: transports.append(name)
        )
        events = [event async for event in followed]
    expected = await baton.tasks.events(submitted["execution_id"])
    report(transports=transports, complete=events == expected)


async def unreachable(baton: AsyncBaton) -> None:
    """A run whose service goes away."""
    submitted = await baton.tasks.submit(
        title="Lost", project_id=PROJECT, metadata={"rehearsal": {"step_ms": 60_000}}
    )
    failures: list[Exception] = []
    async with AsyncBaton(os.environ["RELAY_URL"], api_key=KEY) as follower:
        try:
            async for event in follower.tasks.follow(
                submitted["execution_id"], patience=0.5, on_unreachable=failures.append
            ):
                if event["seq"] == 2:
                    ask(close="relay")
        except BatonUnreachable as error:
            report(unreachable=type(error.__cause__).__name__, failures=len(failures) > 0)
    await baton.tasks.cancel(submitted["execution_id"])


STORIES = {"run": run, "control": control, "webhook": webhook, "polling": polling, "unreachable": unreachable}


async def main() -> None:
    async with AsyncBaton(URL, api_key=KEY) as baton:
        await STORIES[sys.argv[1]](baton)


asyncio.run(main())
