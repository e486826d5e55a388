"""Submits a task with the package `mcp`, answers its question and reads its document. Prints one JSON object."""

import asyncio
import json
import os
import sys

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main(url: str, mode: str) -> None:
    http = create_mcp_http_client(headers={"X-API-Key": os.environ["KEY"]})
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        tools = await client.list_tools()

        async def call(name: str, **arguments: object) -> dict:
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise RuntimeError(result.content)
            return result.structured_content

        artifact = {"step": 1, "name": "note.md", "media_type": "text/markdown", "text": "# Größe"}
        rehearsal = {"steps": 1, "ask": {"step": 1, "question": "Which?"}, "artifact": artifact}
        task = await call("submit_task", title="From Python", metadata={"rehearsal": rehearsal})
        handle = task["execution_id"]
        asking = await call("wait_for_task", execution_id=handle, seconds=60)
        question = asking["question"]
        await call("continue_task", execution_id=handle, reason="This", question=question["id"])
        ended = await call("wait_for_task", execution_id=handle, seconds=60)
        document = await client.read_resource(f"baton://tasks/{handle}/artifacts/note.md")
        refused = await client.call_tool("submit_task", {"title": ""})
        seen = {
            "version": client.protocol_version,
            "tools": len(tools.tools),
            "question": question["text"],
            "state": ended["state"],
            "document": document.contents[0].text,
            "refused": refused.is_error,
        }
        print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2]))
