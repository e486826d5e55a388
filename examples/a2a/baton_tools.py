"""Tools with which an agent of any Python framework gives tasks to Baton over A2A.

    pip install -r requirements.txt
    BATON_API_KEY=… python baton_tools.py "Fix the export"          (BATON_URL: the server)

`run_task` and `answer_task` return when the task has ended or asks a question.
"""

import asyncio
import json
import os
import sys
import uuid
from contextlib import asynccontextmanager

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState
from google.protobuf.json_format import MessageToDict

BASE = os.environ.get("BATON_URL", "http://localhost:3000")
KEY = os.environ.get("BATON_API_KEY", "")
BINDINGS = os.environ.get("BATON_BINDINGS", "JSONRPC").split(",")
POLL_SECONDS = 5

RESTING = {
    TaskState.TASK_STATE_INPUT_REQUIRED,
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
}


@asynccontextmanager
async def baton():
    """A client that has read the agent card."""
    timeout = httpx.Timeout(30, read=60)
    async with httpx.AsyncClient(headers={"X-API-Key": KEY}, timeout=timeout) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=BINDINGS)
        yield await create_client(BASE, config)


async def run_task(text: str, task_type: str = "feature", **metadata) -> dict:
    """Gives Baton a task: `feature`, `bug`, `spec` or `chore`. Returns its result, or a question with the `task_id`."""
    message = message_with(text)
    message.metadata.update({"task_type": task_type, **metadata})
    return await send(message)


async def answer_task(task_id: str, answer: str) -> dict:
    """Answers the question of a task. Returns its result, or the next question."""
    message = message_with(answer)
    message.task_id = task_id
    return await send(message)


def message_with(text: str) -> Message:
    return Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])


async def send(message: Message) -> dict:
    async with baton() as client:
        task_id = message.task_id or None
        # The state of the task as it was before an answer is not the result of the answer.
        is_news = task_id is None
        try:
            async for response in client.send_message(SendMessageRequest(message=message)):
                task_id = task_id or response.task.id
                update = response.task if response.HasField("task") else response.status_update
                state = update.status.state
                is_news = is_news or state != TaskState.TASK_STATE_INPUT_REQUIRED
                if is_news and state in RESTING:
                    break
        except (httpx.TransportError, A2AClientError):
            # The run continues without a connection.
            if task_id is None:
                raise
        return await result_of(client, task_id)


async def result_of(client, task_id: str) -> dict:
    while True:
        task = await client.get_task(GetTaskRequest(id=task_id))
        if task.status.state in RESTING:
            break
        await asyncio.sleep(POLL_SECONDS)
    return {
        "task_id": task.id,
        "state": TaskState.Name(task.status.state),
        "text": "".join(part.text for part in task.status.message.parts),
        "artifacts": {artifact.artifact_id: content_of(artifact.parts[0]) for artifact in task.artifacts},
    }


def content_of(part: Part):
    content = MessageToDict(part)
    return content.get("text", content.get("data", content.get("url")))


async def main(text: str) -> None:
    metadata = json.loads(os.environ.get("BATON_METADATA", "{}"))
    result = await run_task(text, **metadata)
    while result["state"] == "TASK_STATE_INPUT_REQUIRED":
        print(result["text"], flush=True)
        result = await answer_task(result["task_id"], sys.stdin.readline().strip())
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
