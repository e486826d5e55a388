"""Follows runs over the channel with python-socketio. Commands and reports are JSON objects, one per line."""

import asyncio
import json
import sys

import socketio

clients = {}


def report(**members):
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


async def follow(id, url, token, request, transports):
    client = socketio.AsyncClient(reconnection=False)
    clients[id] = client
    code = None

    @client.on("event")
    async def on_event(event):
        report(id=id, event=event)

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
        report(id=id, ended=code)

    try:
        await client.connect(f"{url}?token={token}", socketio_path="/ws", transports=transports)
        answer = await client.call("join", request, timeout=15)
        if answer["ok"]:
            report(id=id, joined=answer)
        else:
            report(id=id, refused=answer["code"])
    except Exception as error:
        report(id=id, refused=code) if code else report(id=id, failed=str(error) or repr(error))


async def main():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    report(ready=True)
    tasks = set()
    while line := await lines.readline():
        command = json.loads(line)
        if command.pop("do") == "follow":
            tasks.add(asyncio.create_task(follow(**command)))
        elif client := clients.pop(command["id"], None):
            tasks.add(asyncio.create_task(client.disconnect()))
    for client in list(clients.values()):
        await client.disconnect()


asyncio.run(main())
