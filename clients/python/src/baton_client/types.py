"""Types of requests and responses: dictionaries with the fields of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from typing_extensions import NotRequired, TypedDict

from ._types import (
    AgentCall,
    AgentMessage,
    Artifact,
    CallFilter,
    CallbackAttempt,
    CallbackAttempted,
    CommentCreatedPayload,
    Delivery,
    DeliveryDetail,
    DeliveryFilter,
    DeploymentCompletedPayload,
    EscalationRequested,
    FeedEvent,
    FilterPreview,
    IssueCreatedPayload,
    IssueDeletedPayload,
    IssueMovedPayload,
    IssueUpdatedPayload,
    ListedDelivery,
    ProblemError,
    ProjectCreatedPayload,
    Question,
    Recovered,
    Rehearsal,
    RotatedWebhook,
    RunEnded,
    RunError,
    SecretRotation,
    SprintCompletedPayload,
    SprintStartedPayload,
    StateChanged,
    Step,
    StepCompleted,
    StepFailed,
    StepProgress,
    StepReference,
    StepStarted,
    TaskFilter,
    TaskRerun,
    TaskSubmission,
    TaskSubmitted,
    TestAttempt,
    Token,
    Usage,
    UserJoinedPayload,
    Webhook,
    WebhookEdit,
    WebhookFilter,
    WebhookPayload,
    WebhookPlan,
    WebhookStats,
    WebhookSubscription,
)
from ._types import TaskCallback as CallbackPayload
from ._types import TaskDetail as Task
from ._types import TaskListed as ListedTask
from ._vocabulary import EventKind, ProblemCode, TaskState, TerminalState

Row = TypeVar("Row")


class Page(TypedDict, Generic[Row]):
    """A page of a list, as the API returns it."""

    data: list[Row]
    next_cursor: str | None


class OutgoingEvent(TypedDict):
    """An event to send. Without an `id`, the client generates one, so that Baton recognizes a repeated event."""

    event: EventKind
    data: Mapping[str, Any]
    id: NotRequired[str]
    timestamp: NotRequired[str]
    """ISO 8601. Default: the time at which Baton receives the event."""


class TakenEvent(TypedDict):
    """An event that Baton has stored durably. `duplicate` is true if Baton had stored it before."""

    id: str
    duplicate: bool


class EventType(TypedDict):
    """An event kind with the JSON Schema of its payload and a sample."""

    event: EventKind
    description: str
    schema: dict[str, Any]
    sample: dict[str, Any]


__all__ = [
    "AgentCall",
    "AgentMessage",
    "Artifact",
    "CallFilter",
    "CallbackAttempt",
    "CallbackAttempted",
    "CallbackPayload",
    "CommentCreatedPayload",
    "Delivery",
    "DeliveryDetail",
    "DeliveryFilter",
    "DeploymentCompletedPayload",
    "EscalationRequested",
    "EventKind",
    "EventType",
    "FeedEvent",
    "FilterPreview",
    "IssueCreatedPayload",
    "IssueDeletedPayload",
    "IssueMovedPayload",
    "IssueUpdatedPayload",
    "ListedDelivery",
    "ListedTask",
    "OutgoingEvent",
    "Page",
    "ProblemCode",
    "ProblemError",
    "ProjectCreatedPayload",
    "Question",
    "Recovered",
    "Rehearsal",
    "RotatedWebhook",
    "RunEnded",
    "RunError",
    "SecretRotation",
    "SprintCompletedPayload",
    "SprintStartedPayload",
    "StateChanged",
    "Step",
    "StepCompleted",
    "StepFailed",
    "StepProgress",
    "StepReference",
    "StepStarted",
    "TakenEvent",
    "Task",
    "TaskFilter",
    "TaskRerun",
    "TaskState",
    "TaskSubmission",
    "TaskSubmitted",
    "TerminalState",
    "TestAttempt",
    "Token",
    "Usage",
    "UserJoinedPayload",
    "Webhook",
    "WebhookEdit",
    "WebhookFilter",
    "WebhookPayload",
    "WebhookPlan",
    "WebhookStats",
    "WebhookSubscription",
]
