"""Watches a run on the live channel with python-socketio.

    pip install -r requirements.txt
    BATON_API_KEY=… python watch.py <execution-id>          (BATON_URL: the server)

Prints every event once and in order, also if connections break, and exits after the last one.
"""

import asyncio
import json
import os
import sys
from urllib.parse import quote

import aiohttp
import socketio

BASE = os.environ.get("BATON_URL", "http://localhost:3000")
KEY = os.environ.get("BATON_API_KEY", "")
AGAIN_SECONDS = 1


class Refused(Exception):
    """The request was rejected, so a retry cannot help."""


async def call_api(method, path):
    async with aiohttp.ClientSession() as session:
        async with session.request(method, BASE + path, headers={"X-API-Key": KEY}) as response:
            if response.status >= 500:
                response.raise_for_status()
            answer = await response.json(content_type=None)
            if response.status >= 400:
                raise Refused(answer.get("detail"))
            return answer


class Watch:
    def __init__(self, execution_id):
        self.id = execution_id
        self.seq = 0
        self.early = {}

    async def to_the_end(self):
        while not await self.is_over():
            try:
                await self.connect_once()
            except (socketio.exceptions.SocketIOError, aiohttp.ClientError, TimeoutError) as error:
                print(f"{error or type(error).__name__}; retrying", file=sys.stderr)
                await asyncio.sleep(AGAIN_SECONDS)

    async def connect_once(self):
        """One connection, from its token to its end."""
        client = socketio.AsyncClient(reconnection=False)

        @client.on("event")
        async def on_event(event):
            await self.take(client, event)

        try:
            # A new token for each connection, so that it has not expired.
            token = (await call_api("POST", "/api/v1/tokens"))["token"]
            await client.connect(f"{BASE}?token={quote(token)}", socketio_path="/ws")
            answer = await client.call("join", {"room": f"workflow:{self.id}", "after": self.seq})
            if not answer["ok"]:
                raise Refused(f"{answer['code']}: {answer['message']}")
            await client.wait()
        finally:
            await client.disconnect()

    async def take(self, client, event):
        # Each event is handled in a separate task, so one may overtake another here.
        self.early[event["seq"]] = event
        while (following := self.early.pop(self.seq + 1, None)) is not None:
            self.seq += 1
            print(following["seq"], following["at"], following["type"], json.dumps(following["data"]), flush=True)
            # One of these is the last event. The events do not say whether a callback follows.
            if following["type"] in ("run.ended", "callback.attempted") and await self.is_over():
                await client.disconnect()

    async def is_over(self):
        try:
            run = await call_api("GET", f"/api/v1/tasks/{self.id}")
        except aiohttp.ClientError:
            return False
        ended = run["state"] in ("completed", "failed", "cancelled", "escalated")
        return ended and run["callback"]["status"] != "pending" and run["last_seq"] <= self.seq


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: watch.py <execution-id>")
    try:
        asyncio.run(Watch(sys.argv[1]).to_the_end())
    except Refused as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        sys.exit(130)
