"""Follows runs over the channel by python-socketio, as it is told on stdin: one JSON object a line, both ways."""

import asyncio
import json
import sys

import socketio

clients = {}


def tell(**members):
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


async def follow(id, url, token, wish, transports):
    client = socketio.AsyncClient(reconnection=False)
    clients[id] = client
    code = None

    @client.on("event")
    async def on_event(event):
        tell(id=id, event=event)

    @client.on("closed")
    async def on_closed(last):
        nonlocal code
        code = last["code"]

    @client.on("connect_error")
    async def on_connect_error(data):
        nonlocal code
        if isinstance(data, dict):
            code = (data.get("data") or {}).get("code") or data.get("message")

    @client.on("disconnect")
    async def on_disconnect(*_):
        tell(id=id, ended=code)

    try:
        await client.connect(f"{url}?token={token}", socketio_path="/ws", transports=transports)
        answer = await client.call("join", wish, timeout=15)
        if answer["ok"]:
            tell(id=id, joined=answer)
        else:
            tell(id=id, refused=answer["code"])
    except Exception as error:
        tell(id=id, refused=code) if code else tell(id=id, failed=str(error) or repr(error))


async def main():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tell(ready=True)
    tasks = set()
    while line := await lines.readline():
        words = json.loads(line)
        if words.pop("do") == "follow":
            tasks.add(asyncio.create_task(follow(**words)))
        elif client := clients.pop(words["id"], None):
            tasks.add(asyncio.create_task(client.disconnect()))
    for client in list(clients.values()):
        await client.disconnect()


asyncio.run(main())
