"""Calls each method of A2A once with the protocol's own Python client, and prints what it got as JSON.

Usage: a2a_client.py BASE_URL BINDING, with the key in BATON_API_KEY.
"""

import asyncio
import json
import os
import sys
import uuid

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)


def request(text, rehearsal, **fields):
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **fields)
    if rehearsal is not None:
        message.metadata.update({"rehearsal": rehearsal})
    configuration = SendMessageConfiguration(return_immediately=True)
    return SendMessageRequest(message=message, configuration=configuration)


def state_of(task):
    return TaskState.Name(task.status.state)


async def states(stream):
    """The states of a stream, without repetitions, and the position of each update."""
    found, positions = [], []
    async for response in stream:
        if response.HasField("artifact_update"):
            continue
        is_task = response.HasField("task")
        update = response.task if is_task else response.status_update
        if not is_task:
            positions.append(int(update.metadata["seq"]))
        if found[-1:] != [state_of(update)]:
            found.append(state_of(update))
    return found, positions


async def with_first(opened, stream):
    """A stream whose first response was taken before."""
    yield opened
    async for response in stream:
        yield response


async def reaching(client, task_id, state):
    """The task once it is in the state."""
    while state_of(task := await client.get_task(GetTaskRequest(id=task_id))) != state:
        await asyncio.sleep(0.2)
    return task


async def error_of(awaitable):
    try:
        await awaitable
    except Exception as error:
        return type(error).__name__
    return None


async def first(stream):
    async for response in stream:
        return response.task


async def push_configs(client, task_id):
    """The ids of the push notification configurations of a task, after each method."""

    async def listed():
        response = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task_id))
        return [config.id for config in response.configs]

    config = TaskPushNotificationConfig(task_id=task_id, id="mine", url="https://127.0.0.1:9/", token="token")
    created = await client.create_task_push_notification_config(config)
    read = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task_id, id="mine")
    )
    before = await listed()
    await client.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="mine")
    )
    return [created.id, read.url, read.token, before, await listed()]


async def main(base, binding):
    headers = {"X-API-Key": os.environ["BATON_API_KEY"]}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        streaming = await create_client(base, ClientConfig(httpx_client=http, supported_protocol_bindings=[binding]))
        polling = await create_client(
            base, ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=False)
        )
        card = await streaming.get_extended_agent_card(GetExtendedAgentCardRequest())
        streamed, positions = await states(streaming.send_message(request("Streamed", {"steps": 2})))

        asking = await first(polling.send_message(request("Asks", {"steps": 1, "ask": {"step": 1, "question": "Why?"}})))
        task = await reaching(polling, asking.id, "TASK_STATE_INPUT_REQUIRED")
        question = task.status.message.parts[0].text
        subscribed = streaming.subscribe(SubscribeToTaskRequest(id=asking.id))
        following = asyncio.ensure_future(states(with_first(await anext(subscribed), subscribed)))
        await first(polling.send_message(request("Because", None, task_id=asking.id)))
        followed, _ = await following
        ended = await polling.get_task(GetTaskRequest(id=asking.id))

        working = await first(polling.send_message(request("Works", {"steps": 1, "step_ms": 60_000})))
        pushes = await push_configs(polling, working.id)
        await polling.cancel_task(CancelTaskRequest(id=working.id))
        # The response shows the new state only if it is recorded in time.
        cancelled = await reaching(polling, working.id, "TASK_STATE_CANCELED")
        listed = await polling.list_tasks(ListTasksRequest(page_size=2))
        print(
            json.dumps(
                {
                    "skills": [skill.id for skill in card.skills],
                    "streamed": streamed,
                    "positions": positions,
                    "question": question,
                    "followed": followed,
                    "history": [message.parts[0].text for message in ended.history],
                    "artifacts": [artifact.artifact_id for artifact in ended.artifacts],
                    "pushes": pushes,
                    "cancelled": state_of(cancelled),
                    "listed": [task.id for task in listed.tasks] == [working.id, asking.id],
                    "total": listed.total_size,
                    "unknown": await error_of(polling.get_task(GetTaskRequest(id=str(uuid.uuid4())))),
                    "ended": await error_of(polling.cancel_task(CancelTaskRequest(id=asking.id))),
                    "file": await error_of(
                        first(
                            polling.send_message(
                                SendMessageRequest(
                                    message=Message(
                                        message_id="file",
                                        role=Role.ROLE_USER,
                                        parts=[Part(raw=b"x", media_type="image/png")],
                                    )
                                )
                            )
                        )
                    ),
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
