# Generated from the constants of the service by dev/docs/main.ts: states, codes and limits.

from typing import Literal

TaskState = Literal[
    "initializing",
    "planning",
    "executing",
    "paused",
    "completed",
    "failed",
    "cancelled",
    "escalated",
]
TASK_STATES: tuple[TaskState, ...] = (
    "initializing",
    "planning",
    "executing",
    "paused",
    "completed",
    "failed",
    "cancelled",
    "escalated",
)

TerminalState = Literal[
    "completed",
    "failed",
    "cancelled",
    "escalated",
]
TERMINAL_STATES: tuple[TerminalState, ...] = (
    "completed",
    "failed",
    "cancelled",
    "escalated",
)

CallbackState = Literal[
    "completed",
    "failed",
    "escalated",
]
CALLBACK_STATES: tuple[CallbackState, ...] = (
    "completed",
    "failed",
    "escalated",
)

EventKind = Literal[
    "issue.created",
    "issue.updated",
    "issue.deleted",
    "issue.moved",
    "comment.created",
    "sprint.started",
    "sprint.completed",
    "project.created",
    "user.joined",
    "deployment.completed",
]
EVENT_KINDS: tuple[EventKind, ...] = (
    "issue.created",
    "issue.updated",
    "issue.deleted",
    "issue.moved",
    "comment.created",
    "sprint.started",
    "sprint.completed",
    "project.created",
    "user.joined",
    "deployment.completed",
)

ProblemCode = Literal[
    "malformed_json",
    "bad_request",
    "unauthenticated",
    "project_not_allowed",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "not_acceptable",
    "request_timeout",
    "invalid_state",
    "conflict",
    "payload_too_large",
    "unsupported_media_type",
    "validation_failed",
    "idempotency_key_reused",
    "rate_limited",
    "headers_too_large",
    "internal_error",
    "unavailable",
]
PROBLEM_CODES: tuple[ProblemCode, ...] = (
    "malformed_json",
    "bad_request",
    "unauthenticated",
    "project_not_allowed",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "not_acceptable",
    "request_timeout",
    "invalid_state",
    "conflict",
    "payload_too_large",
    "unsupported_media_type",
    "validation_failed",
    "idempotency_key_reused",
    "rate_limited",
    "headers_too_large",
    "internal_error",
    "unavailable",
)

MAX_EVENTS_PER_REQUEST = 500

MAX_WAIT_SECONDS = 60

MAX_BODY_BYTES = 1048576
