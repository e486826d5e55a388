# Generated from the schemas of the service by dev/types/python-types.ts.
# Their SHA-256 is 5e99d8ce9a5854865c26f8f4103ef9295d254c0ceee3d206fa11248b92c79984.

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class Artifact(TypedDict):
    name: str
    media_type: str
    size: int
    """
    Size in bytes
    """
    sha256: str
    """
    SHA-256 of the content, hex
    """
    step: str | None
    agent: str
    created_at: str
    url: str
    """
    Download URL, requires the same credential
    """


class CallFilter(TypedDict):
    limit: NotRequired[int]
    """
    Rows per page; default: 50
    """
    kind: NotRequired[Literal["model", "tool"]]


class CallbackAttempt(TypedDict):
    id: str
    execution_id: str
    attempt: int
    trigger: Literal["automatic", "manual"]
    """
    `manual` for a retry that somebody requested, otherwise `automatic`
    """
    url: str
    request_headers: dict[str, str]
    request_body: str | None
    """
    Null for older attempts if the bodies of all have more than 8 MiB
    """
    response_status: int | None
    response_headers: dict[str, str] | None
    response_body: str | None
    """
    The first 16 KiB
    """
    failure: str | None
    """
    Kind of failure; null on success
    """
    message: str | None
    address: str | None
    """
    IP address of the connection
    """
    duration_ms: int | None
    attempted_at: str
    completed_at: str | None
    next_attempt_at: str | None
    reconnected: bool
    """
    True if a reused connection was closed without a response and the request was sent again
    """


class CallbackAttemptedData(TypedDict):
    attempt: int
    trigger: NotRequired[Literal["automatic", "manual"]]
    """
    Omitted in events of earlier versions
    """
    outcome: Literal["succeeded", "failed"]
    response_status: int | None
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    message: str | None
    duration_ms: int | None
    next_attempt_at: str | None
    """
    Null if there is none
    """


class CallbackAttempted(TypedDict):
    """
    A callback attempt ended. The last attempt, successful or not, is the last event of a run. A manual retry adds one more
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["callback.attempted"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: CallbackAttemptedData


class CommentCreatedDataCommentAuthor(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class CommentCreatedDataComment(TypedDict):
    id: str
    body: NotRequired[str | None]
    author: NotRequired[CommentCreatedDataCommentAuthor | None]
    created_at: NotRequired[str | None]


class CommentCreatedDataIssueAssignee(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class CommentCreatedDataIssueProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class CommentCreatedDataIssue(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    title: NotRequired[str]
    type: NotRequired[str | None]
    status: NotRequired[str | None]
    priority: NotRequired[str | None]
    assignee: NotRequired[CommentCreatedDataIssueAssignee | None]
    project: NotRequired[CommentCreatedDataIssueProject | None]


class CommentCreatedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class CommentCreatedData(TypedDict):
    comment: CommentCreatedDataComment
    issue: NotRequired[CommentCreatedDataIssue | None]
    actor: NotRequired[CommentCreatedDataActor | None]


class CommentCreatedPayloadWorkspace(TypedDict):
    id: str
    name: str


class CommentCreatedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["comment.created"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: CommentCreatedPayloadWorkspace
    data: CommentCreatedData


class Delivery(TypedDict):
    id: str
    """
    Value of `X-Service-Delivery`, the same in all attempts
    """
    webhook_id: str
    event_id: str
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    status: Literal["pending", "succeeded", "retrying", "failed", "held", "cancelled", "skipped"]
    test: bool
    response_status: int | None
    """
    Status of the response to the last attempt
    """
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    """
    Failure of the last attempt; null on success
    """
    response_ms: int | None
    """
    Duration of the last attempt
    """
    attempts_count: int
    next_attempt_at: str | None
    """
    Time of the next automatic attempt; without one, the time of the scheduled manual retry
    """
    scheduled_at: str | None
    """
    When the scheduled manual retry is due
    """
    reason: str | None
    """
    Why it was not sent or not yet sent, or why a manual retry was not made
    """
    created_at: str


class DeliveryAttemptRequest(TypedDict):
    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    """
    Secrets are masked
    """
    body: str | None
    """
    Null after the payload was deleted, and in older attempts if all payloads together would exceed 8 MiB. The payload is the same in all attempts
    """


class DeliveryAttemptResponse(TypedDict):
    status: int
    headers: dict[str, str]
    body: str | None
    """
    The first 64 KiB; null after the body was deleted
    """
    truncated: bool


class DeliveryAttemptTimings(TypedDict):
    lookup_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    first_byte_ms: float | None
    total_ms: float | None
    reconnected: NotRequired[bool]
    """
    True if a reused connection was closed without a response and the request was sent again
    """


class DeliveryAttempt(TypedDict):
    number: int
    trigger: Literal["automatic", "manual", "test"]
    attempted_at: str
    request: DeliveryAttemptRequest
    response: DeliveryAttemptResponse | None
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    message: str | None
    """
    Description of the failure
    """
    address: str | None
    """
    IP address of the connection
    """
    timings: DeliveryAttemptTimings
    response_ms: int | None


class DeliveryDetail(TypedDict):
    id: str
    """
    Value of `X-Service-Delivery`, the same in all attempts
    """
    webhook_id: str
    event_id: str
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    status: Literal["pending", "succeeded", "retrying", "failed", "held", "cancelled", "skipped"]
    test: bool
    response_status: int | None
    """
    Status of the response to the last attempt
    """
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    """
    Failure of the last attempt; null on success
    """
    response_ms: int | None
    """
    Duration of the last attempt
    """
    attempts_count: int
    next_attempt_at: str | None
    """
    Time of the next automatic attempt; without one, the time of the scheduled manual retry
    """
    scheduled_at: str | None
    """
    When the scheduled manual retry is due
    """
    reason: str | None
    """
    Why it was not sent or not yet sent, or why a manual retry was not made
    """
    created_at: str
    about: str | None
    """
    Keys, titles, names and then ids in the event; null after they were deleted
    """
    event_timestamp: str | None
    """
    When the event occurred
    """
    received_at: str | None
    """
    When the service received the event
    """
    attempts: list[DeliveryAttempt]
    """
    The newest 100, oldest first
    """


class DeliveryFilter(TypedDict):
    limit: NotRequired[int]
    """
    Rows per page; default: 50
    """
    status: NotRequired[list[Literal["pending", "succeeded", "retrying", "failed", "held", "cancelled", "skipped"]]]
    event: NotRequired[list[Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]]]
    created_after: NotRequired[str]
    """
    Created at or after this time
    """
    created_before: NotRequired[str]
    """
    Created before this time
    """
    text: NotRequired[str]
    """
    Beginnings of words in the kind, titles and names of the event, in any order; or the beginning of its id, complete if there are other words; or a delivery id. Spaces separate words. A word can also begin after punctuation, except in an id. Case matters only in ids of events
    """


class DeploymentCompletedDataDeployment(TypedDict):
    id: str
    environment: NotRequired[str | None]
    version: NotRequired[str | None]
    status: NotRequired[str | None]
    url: NotRequired[str | None]
    started_at: NotRequired[str | None]
    completed_at: NotRequired[str | None]


class DeploymentCompletedDataProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class DeploymentCompletedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class DeploymentCompletedData(TypedDict):
    deployment: DeploymentCompletedDataDeployment
    project: NotRequired[DeploymentCompletedDataProject | None]
    actor: NotRequired[DeploymentCompletedDataActor | None]


class DeploymentCompletedPayloadWorkspace(TypedDict):
    id: str
    name: str


class DeploymentCompletedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["deployment.completed"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: DeploymentCompletedPayloadWorkspace
    data: DeploymentCompletedData


class Escalation(TypedDict):
    """
    Why an agent asked for a human decision
    """

    reason: str
    step: str | None
    agent: str | None
    at: str


class FilterPreviewData(TypedDict):
    event_id: str
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    timestamp: str
    about: str | None
    """
    Ids, keys, titles and names in the event
    """
    verdict: Literal["send", "skip", "unsubscribed"]
    reason: str | None
    """
    Filter that did not match, and why
    """


class FilterPreview(TypedDict):
    data: list[FilterPreviewData]


class IssueCreatedDataIssueAssignee(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class IssueCreatedDataIssueProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class IssueCreatedDataIssue(TypedDict):
    id: str
    key: NotRequired[str]
    title: NotRequired[str]
    type: NotRequired[str | None]
    status: NotRequired[str | None]
    priority: NotRequired[str | None]
    assignee: NotRequired[IssueCreatedDataIssueAssignee | None]
    project: NotRequired[IssueCreatedDataIssueProject | None]


class IssueCreatedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class IssueCreatedData(TypedDict):
    issue: IssueCreatedDataIssue
    actor: NotRequired[IssueCreatedDataActor | None]


class IssueCreatedPayloadWorkspace(TypedDict):
    id: str
    name: str


class IssueCreatedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["issue.created"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: IssueCreatedPayloadWorkspace
    data: IssueCreatedData


class IssueDeletedDataIssueAssignee(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class IssueDeletedDataIssueProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class IssueDeletedDataIssue(TypedDict):
    id: str
    key: NotRequired[str]
    title: NotRequired[str]
    type: NotRequired[str | None]
    status: NotRequired[str | None]
    priority: NotRequired[str | None]
    assignee: NotRequired[IssueDeletedDataIssueAssignee | None]
    project: NotRequired[IssueDeletedDataIssueProject | None]


class IssueDeletedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class IssueDeletedData(TypedDict):
    issue: IssueDeletedDataIssue
    actor: NotRequired[IssueDeletedDataActor | None]


class IssueDeletedPayloadWorkspace(TypedDict):
    id: str
    name: str


class IssueDeletedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["issue.deleted"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: IssueDeletedPayloadWorkspace
    data: IssueDeletedData


class IssueMovedDataIssueAssignee(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class IssueMovedDataIssueProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class IssueMovedDataIssue(TypedDict):
    id: str
    key: NotRequired[str]
    title: NotRequired[str]
    type: NotRequired[str | None]
    status: NotRequired[str | None]
    priority: NotRequired[str | None]
    assignee: NotRequired[IssueMovedDataIssueAssignee | None]
    project: NotRequired[IssueMovedDataIssueProject | None]


class IssueMovedDataChange(TypedDict):
    field: str
    old_value: NotRequired[Any]
    new_value: NotRequired[Any]


class IssueMovedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class IssueMovedData(TypedDict):
    issue: IssueMovedDataIssue
    changes: NotRequired[list[IssueMovedDataChange] | None]
    actor: NotRequired[IssueMovedDataActor | None]


class IssueMovedPayloadWorkspace(TypedDict):
    id: str
    name: str


class IssueMovedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["issue.moved"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: IssueMovedPayloadWorkspace
    data: IssueMovedData


class IssueUpdatedDataIssueAssignee(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class IssueUpdatedDataIssueProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class IssueUpdatedDataIssue(TypedDict):
    id: str
    key: NotRequired[str]
    title: NotRequired[str]
    type: NotRequired[str | None]
    status: NotRequired[str | None]
    priority: NotRequired[str | None]
    assignee: NotRequired[IssueUpdatedDataIssueAssignee | None]
    project: NotRequired[IssueUpdatedDataIssueProject | None]


class IssueUpdatedDataChange(TypedDict):
    field: str
    old_value: NotRequired[Any]
    new_value: NotRequired[Any]


class IssueUpdatedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class IssueUpdatedData(TypedDict):
    issue: IssueUpdatedDataIssue
    changes: NotRequired[list[IssueUpdatedDataChange] | None]
    actor: NotRequired[IssueUpdatedDataActor | None]


class IssueUpdatedPayloadWorkspace(TypedDict):
    id: str
    name: str


class IssueUpdatedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["issue.updated"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: IssueUpdatedPayloadWorkspace
    data: IssueUpdatedData


class ListedDelivery(TypedDict):
    id: str
    """
    Value of `X-Service-Delivery`, the same in all attempts
    """
    webhook_id: str
    event_id: str
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    status: Literal["pending", "succeeded", "retrying", "failed", "held", "cancelled", "skipped"]
    test: bool
    response_status: int | None
    """
    Status of the response to the last attempt
    """
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    """
    Failure of the last attempt; null on success
    """
    response_ms: int | None
    """
    Duration of the last attempt
    """
    attempts_count: int
    next_attempt_at: str | None
    """
    Time of the next automatic attempt; without one, the time of the scheduled manual retry
    """
    scheduled_at: str | None
    """
    When the scheduled manual retry is due
    """
    reason: str | None
    """
    Why it was not sent or not yet sent, or why a manual retry was not made
    """
    created_at: str
    about: str | None
    """
    Keys, titles, names and then ids in the event; null after they were deleted
    """


class ProblemError(TypedDict):
    pointer: NotRequired[str]
    """
    JSON Pointer into the body
    """
    parameter: NotRequired[str]
    """
    Name of a query parameter
    """
    code: Literal["required", "wrong_type", "unknown_member", "too_short", "too_long", "too_small", "too_large", "too_deep", "not_allowed", "invalid_format", "not_https", "not_storable", "number_not_exact", "blank"]
    message: str


class Problem(TypedDict):
    type: str
    """
    URI reference to the description of the code
    """
    title: str
    status: int
    detail: str
    instance: str
    """
    Path of the request
    """
    code: Literal["malformed_json", "bad_request", "unauthenticated", "project_not_allowed", "forbidden", "not_found", "method_not_allowed", "not_acceptable", "request_timeout", "invalid_state", "conflict", "payload_too_large", "unsupported_media_type", "validation_failed", "idempotency_key_reused", "rate_limited", "headers_too_large", "internal_error", "unavailable"]
    request_id: str
    errors: NotRequired[list[ProblemError]]


class Progress(TypedDict):
    percent: int
    steps_completed: int
    steps_total: int
    current_step: str | None


class ProjectCreatedDataProjectLead(TypedDict):
    id: NotRequired[str]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class ProjectCreatedDataProject(TypedDict):
    id: str
    key: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str | None]
    lead: NotRequired[ProjectCreatedDataProjectLead | None]


class ProjectCreatedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class ProjectCreatedData(TypedDict):
    project: ProjectCreatedDataProject
    actor: NotRequired[ProjectCreatedDataActor | None]


class ProjectCreatedPayloadWorkspace(TypedDict):
    id: str
    name: str


class ProjectCreatedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["project.created"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: ProjectCreatedPayloadWorkspace
    data: ProjectCreatedData


class Question(TypedDict):
    """
    Question of an agent. Continue the run to answer it, with the reason as the answer. Cancel the run to end it
    """

    id: NotRequired[str]
    """
    Unique within the run. Absent in questions of earlier versions
    """
    step: str
    agent: str
    text: str
    at: str


class Recovered(TypedDict):
    count: int
    """
    Number of deliveries to resend
    """


class Recovery(TypedDict):
    since: str
    """
    Deliveries created at or after this time
    """
    statuses: NotRequired[list[Literal["held", "failed", "skipped"]]]
    """
    Default: held and failed
    """
    count_only: NotRequired[bool]
    """
    Only returns the number, with 200; even while the webhook is disabled or inactive
    """


class RehearsalFail(TypedDict):
    """
    The step fails this many times, then succeeds
    """

    step: int
    times: int


class RehearsalUnrecoverable(TypedDict):
    """
    This step ends the run as `failed`
    """

    step: int


class RehearsalEscalate(TypedDict):
    """
    This step ends the run as `escalated`
    """

    step: int
    reason: str


class RehearsalArtifact(TypedDict):
    """
    This step saves this document
    """

    step: int
    name: str
    media_type: NotRequired[str]
    text: str


class RehearsalAsk(TypedDict):
    """
    This step asks this question first: the run is paused until it is continued
    """

    step: int
    question: str


class Rehearsal(TypedDict):
    start_ms: NotRequired[int]
    """
    How long `initializing` takes, in milliseconds
    """
    plan_ms: NotRequired[int]
    """
    How long `planning` takes, in milliseconds
    """
    step_ms: NotRequired[int]
    """
    How long each step takes, in milliseconds
    """
    steps: NotRequired[int]
    """
    Number of steps, instead of the steps of the team
    """
    progress_events: NotRequired[int]
    """
    `step.progress` reports per step
    """
    fail: NotRequired[RehearsalFail]
    """
    The step fails this many times, then succeeds
    """
    unrecoverable: NotRequired[RehearsalUnrecoverable]
    """
    This step ends the run as `failed`
    """
    escalate: NotRequired[RehearsalEscalate]
    """
    This step ends the run as `escalated`
    """
    artifact: NotRequired[RehearsalArtifact]
    """
    This step saves this document
    """
    ask: NotRequired[RehearsalAsk]
    """
    This step asks this question first: the run is paused until it is continued
    """


class RerunAnswer(TypedDict):
    step: str
    """
    Name of the step that escalated
    """
    question: str
    """
    Reason of the escalation
    """
    text: str
    by: str
    """
    Who answered
    """


class RunError(TypedDict):
    code: Literal["step_failed", "step_timed_out", "planning_failed", "run_timed_out", "engine_timed_out", "engine_failed"]
    message: str
    step: str | None
    agent: str | None
    at: str


class SecretRotation(TypedDict):
    secret: NotRequired[str]
    """
    New secret; default: generated and shown once
    """
    overlap_hours: NotRequired[float]
    """
    Hours during which the old secret also signs
    """


class SprintCompletedDataSprint(TypedDict):
    id: str
    name: NotRequired[str]
    goal: NotRequired[str | None]
    start_date: NotRequired[str | None]
    end_date: NotRequired[str | None]
    issues_count: NotRequired[int | None]
    points: NotRequired[int | None]
    completed_points: NotRequired[int | None]
    completed_issues_count: NotRequired[int | None]


class SprintCompletedDataProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class SprintCompletedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class SprintCompletedData(TypedDict):
    sprint: SprintCompletedDataSprint
    project: NotRequired[SprintCompletedDataProject | None]
    actor: NotRequired[SprintCompletedDataActor | None]


class SprintCompletedPayloadWorkspace(TypedDict):
    id: str
    name: str


class SprintCompletedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["sprint.completed"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: SprintCompletedPayloadWorkspace
    data: SprintCompletedData


class SprintStartedDataSprint(TypedDict):
    id: str
    name: NotRequired[str]
    goal: NotRequired[str | None]
    start_date: NotRequired[str | None]
    end_date: NotRequired[str | None]
    issues_count: NotRequired[int | None]
    points: NotRequired[int | None]
    completed_points: NotRequired[int | None]
    completed_issues_count: NotRequired[int | None]


class SprintStartedDataProject(TypedDict):
    id: NotRequired[str]
    key: NotRequired[str]
    name: NotRequired[str]


class SprintStartedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class SprintStartedData(TypedDict):
    sprint: SprintStartedDataSprint
    project: NotRequired[SprintStartedDataProject | None]
    actor: NotRequired[SprintStartedDataActor | None]


class SprintStartedPayloadWorkspace(TypedDict):
    id: str
    name: str


class SprintStartedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["sprint.started"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: SprintStartedPayloadWorkspace
    data: SprintStartedData


class StateChangedDataStep(TypedDict):
    id: str
    name: str
    agent: str
    after: list[str]
    """
    Names of the steps that must complete first
    """
    kept: NotRequired[Literal[True]]
    """
    Completed step, kept from the earlier run
    """


StateChangedData = TypedDict(
    "StateChangedData",
    {
        "from": Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"],
        "to": Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"],
        "by": NotRequired[str],
        "reason": NotRequired[str],
        "question": NotRequired[Question],
        "backend": NotRequired[Literal["rehearsal", "model", "a2a", "command"]],
        "steps": NotRequired[list[StateChangedDataStep]],
        "answer": NotRequired[RerunAnswer],
    },
)


class StateChanged(TypedDict):
    """
    The state of the run changed
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["state.changed"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: StateChangedData


class StepReference(TypedDict):
    id: str
    name: str
    """
    Unique within the run
    """
    agent: str
    attempt: int
    """
    Counted from 1
    """


class StepStartedData(TypedDict):
    step: StepReference


class StepStarted(TypedDict):
    """
    A step attempt started
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["step.started"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: StepStartedData


class TaskCallbackError(TypedDict):
    code: str
    message: str
    step: str | None
    agent: str | None
    at: str


class TaskCallback(TypedDict):
    execution_id: str
    status: Literal["completed", "failed", "escalated"]
    duration_ms: int
    started_at: str
    completed_at: str
    output: dict[str, Any]
    """
    Empty if the run ended before it had a plan
    """
    errors: list[TaskCallbackError]


class TaskDetailCallbackAttempt(TypedDict):
    attempt: int
    trigger: Literal["automatic", "manual"]
    """
    `manual` for a retry that somebody requested, otherwise `automatic`
    """
    attempted_at: str
    response_status: int | None
    failure: str | None
    message: str | None
    duration_ms: int | None
    next_attempt_at: str | None


class TaskDetailCallback(TypedDict):
    url: str | None
    status: Literal["none", "pending", "delivered", "failed"]
    attempts: list[TaskDetailCallbackAttempt]
    """
    The newest 100, oldest first. Full log: `…/callbacks`
    """


class TaskDetailRerun(TypedDict):
    execution_id: str
    state: Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"]
    rerun_from: str | None
    """
    Step that the rerun starts from; null if the earlier run had no plan
    """
    created_at: str


class TaskFilter(TypedDict):
    limit: NotRequired[int]
    """
    Rows per page; default: 50
    """
    q: NotRequired[str]
    """
    Only runs whose title and metadata contain all these words or word prefixes, or whose id begins with this text (at least 8 digits)
    """
    state: NotRequired[list[Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"]]]
    task_type: NotRequired[list[Literal["feature", "bug", "spec", "chore"]]]
    errors: NotRequired[list[Literal["step_failed", "step_timed_out", "planning_failed", "run_timed_out", "engine_timed_out", "engine_failed"]]]
    """
    Only runs with one of these codes in `errors`
    """
    created_after: NotRequired[str]
    """
    Submitted at or after this time
    """
    created_before: NotRequired[str]
    """
    Submitted before this time
    """
    project_id: NotRequired[str]
    """
    For users, who can access all projects of their workspace
    """
    created_by: NotRequired[str]
    """
    Only runs of this submitter: `created_by` of a run, or `me` for the caller
    """
    needs_me: NotRequired[Literal["true"]]
    """
    Only runs that wait for a person: an agent has asked a question, or the run was escalated and has not been rerun
    """


class TaskListedCallback(TypedDict):
    url: str | None
    status: Literal["none", "pending", "delivered", "failed"]


class TaskListed(TypedDict):
    execution_id: str
    state: Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"]
    project_id: str
    title: str
    task_type: Literal["feature", "bug", "spec", "chore"]
    metadata: dict[str, Any]
    progress: Progress
    created_at: str
    started_at: str | None
    paused_at: str | None
    paused_by: str | None
    paused_ms: int
    """
    Milliseconds paused, without the current pause
    """
    completed_at: str | None
    duration_ms: int | None
    errors: list[RunError]
    callback: TaskListedCallback
    status_url: str
    websocket_room: str
    last_seq: int
    created_by: str
    """
    Submitter: `user:<e-mail>` or `key:<prefix>`
    """
    rerun_of: str | None
    """
    The run that this run reruns; null if there is none or it was erased
    """
    question: Question | None
    """
    Question of an agent, while the run is paused for the answer
    """


class TaskRerun(TypedDict):
    execution_id: str
    status_url: str
    """
    URL to poll
    """
    websocket_room: str
    """
    Room of the run on the live channel
    """
    callback_secret: str
    """
    64 hex characters, shown once. The HMAC key of callbacks is the UTF-8 bytes of this text
    """
    rerun_of: str
    """
    The earlier run
    """
    rerun_from: str | None
    """
    Step that the rerun starts from; null if the earlier run had no plan
    """
    callback_url: str | None
    """
    URL of the callback, the same as that of the earlier run; null: no callback is sent
    """


class TaskSubmission(TypedDict):
    title: str
    """
    Short human-readable name
    """
    description: NotRequired[str]
    """
    Full prompt for the agent
    """
    project_id: str
    """
    A project that the credential can access
    """
    task_type: NotRequired[Literal["feature", "bug", "spec", "chore"]]
    """
    Selects the team of agents
    """
    callback_url: NotRequired[str]
    """
    Starts with https://. Without it, poll. At most 2048 characters
    """
    metadata: NotRequired[dict[str, Any]]
    """
    Passed through; at most 16384 bytes of JSON. Use `rehearsal` to script a simulated run
    """


class TaskSubmitted(TypedDict):
    execution_id: str
    status_url: str
    """
    URL to poll
    """
    websocket_room: str
    """
    Room of the run on the live channel
    """
    callback_secret: str
    """
    64 hex characters, shown once. The HMAC key of callbacks is the UTF-8 bytes of this text
    """


class TestAttemptRequest(TypedDict):
    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    """
    Secrets are masked
    """
    body: str | None
    """
    Null after the payload was deleted, and in older attempts if all payloads together would exceed 8 MiB. The payload is the same in all attempts
    """


class TestAttemptResponse(TypedDict):
    status: int
    headers: dict[str, str]
    body: str | None
    """
    The first 64 KiB; null after the body was deleted
    """
    truncated: bool


class TestAttemptTimings(TypedDict):
    lookup_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    first_byte_ms: float | None
    total_ms: float | None
    reconnected: NotRequired[bool]
    """
    True if a reused connection was closed without a response and the request was sent again
    """


class TestAttempt(TypedDict):
    number: int
    trigger: Literal["automatic", "manual", "test"]
    attempted_at: str
    request: TestAttemptRequest
    response: TestAttemptResponse | None
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    message: str | None
    """
    Description of the failure
    """
    address: str | None
    """
    IP address of the connection
    """
    timings: TestAttemptTimings
    response_ms: int | None
    delivery_id: str
    """
    Id in the delivery log
    """


class Token(TypedDict):
    token: str
    token_type: Literal["Bearer"]
    expires_at: str


class Usage(TypedDict):
    """
    Model usage of a step over all attempts
    """

    input_tokens: int
    output_tokens: int
    model_calls: NotRequired[int]
    """
    Answered model calls
    """
    cost_usd: NotRequired[float]
    """
    US dollars, if the catalogue has prices for the models
    """


class UserJoinedDataUser(TypedDict):
    id: str
    name: NotRequired[str]
    email: NotRequired[str | None]
    role: NotRequired[str | None]


class UserJoinedDataActor(TypedDict):
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class UserJoinedData(TypedDict):
    user: UserJoinedDataUser
    actor: NotRequired[UserJoinedDataActor | None]


class UserJoinedPayloadWorkspace(TypedDict):
    id: str
    name: str


class UserJoinedPayload(TypedDict):
    id: str
    """
    Id of the event
    """
    event: Literal["user.joined"]
    timestamp: str
    """
    When the event occurred
    """
    workspace: UserJoinedPayloadWorkspace
    data: UserJoinedData


class WebhookFilter(TypedDict):
    """
    Has exactly one of `changed_to` and `values`
    """

    field: Literal["status", "priority", "type", "assignee", "project", "environment"]
    changed_to: NotRequired[str | float | bool | None]
    """
    The field changed to this value
    """
    values: NotRequired[list[str | float | bool | None]]
    """
    The value of the field is one of these
    """


WebhookPayload: TypeAlias = IssueCreatedPayload | IssueUpdatedPayload | IssueDeletedPayload | IssueMovedPayload | CommentCreatedPayload | SprintStartedPayload | SprintCompletedPayload | ProjectCreatedPayload | UserJoinedPayload | DeploymentCompletedPayload


WebhookStatsHour = TypedDict(
    "WebhookStatsHour",
    {
        "from": str,
        "succeeded": int,
        "failed": int,
        "p95_ms": int | None,
    },
)


class WebhookStatsLast(TypedDict):
    """
    Outcome of the newest attempted delivery
    """

    delivery_id: str
    response_status: int | None
    failure: Literal["invalid_request", "secret_unreadable", "lookup_failed", "address_refused", "connection_failed", "tls_failed", "timeout", "connection_closed", "invalid_response", "redirect", "status", "aborted", "interrupted"] | None
    response_ms: int | None


WebhookStats = TypedDict(
    "WebhookStats",
    {
        "from": str,
        "to": str,
        "hours": list[WebhookStatsHour],
        "total": int,
        "succeeded": int,
        "failed": int,
        "success_rate": float | None,
        "last_delivery_at": str | None,
        "last": WebhookStatsLast | None,
        "held": int,
        "next_attempt_at": str | None,
    },
)


class WebhookSubscription(TypedDict):
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    filters: NotRequired[list[WebhookFilter]]
    """
    All filters must match
    """


class WebhookSubscriptionStoredFilter(TypedDict):
    field: Literal["status", "priority", "type", "assignee", "project", "environment"]
    changed_to: NotRequired[str | float | bool | None]
    values: NotRequired[list[str | float | bool | None]]


class WebhookSubscriptionStored(TypedDict):
    event: Literal["issue.created", "issue.updated", "issue.deleted", "issue.moved", "comment.created", "sprint.started", "sprint.completed", "project.created", "user.joined", "deployment.completed"]
    filters: list[WebhookSubscriptionStoredFilter]


class AgentCall(TypedDict):
    step: str | None
    """
    Null for calls of the planner
    """
    agent: str | None
    attempt: int
    number: int
    """
    Number of the call within the attempt
    """
    kind: Literal["model", "tool"]
    name: str
    """
    `provider/model`, or name of the tool
    """
    input: Any
    output: Any
    truncated: bool
    """
    Whether the input or output was truncated
    """
    usage: Usage | None
    failure: str | None
    started_at: str
    duration_ms: int


class AgentMessageData(TypedDict):
    step: StepReference
    text: str


class AgentMessage(TypedDict):
    """
    Message of an agent; for a model, after each call
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["agent.message"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: AgentMessageData


class EscalationRequestedData(TypedDict):
    step: StepReference
    reason: str


class EscalationRequested(TypedDict):
    """
    An agent asked for a human decision; the run ends `escalated`
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["escalation.requested"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: EscalationRequestedData


class FilterPreviewRequest(TypedDict):
    events: NotRequired[list[WebhookSubscription]]
    limit: NotRequired[int]
    """
    Number of recent events; default: 20
    """


class RotatedWebhook(TypedDict):
    id: str
    name: str
    description: str | None
    url: str
    method: Literal["POST"]
    content_type: Literal["application/json"]
    events: list[WebhookSubscriptionStored]
    has_secret: bool
    include_secret_header: bool
    active: bool
    standard_webhooks: bool
    status: Literal["active", "inactive", "disabled"]
    """
    `disabled`: by repeated failures; `inactive`: by a user
    """
    consecutive_failures: int
    disabled_at: str | None
    disabled_reason: str | None
    previous_secret_until: str | None
    """
    Until when the previous secret also signs
    """
    listening: bool
    """
    Whether its deliveries go to a listener on the live channel instead of `url`
    """
    created_at: str
    updated_at: str
    secret: NotRequired[str]
    """
    64 hex characters, shown once; only if generated
    """


class RunEndedData(TypedDict):
    state: Literal["completed", "failed", "cancelled", "escalated"]
    duration_ms: int | None
    errors: list[RunError]
    escalation: Escalation | None


class RunEnded(TypedDict):
    """
    The run ended. Last event of a run without a callback
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["run.ended"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: RunEndedData


class Step(TypedDict):
    id: str
    name: str
    """
    Unique within the run
    """
    agent: str
    status: Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]
    attempt: int
    """
    0 before the step starts
    """
    started_at: str | None
    completed_at: str | None
    duration_ms: int | None
    summary: str | None
    usage: Usage | None
    error: RunError | None
    kept: NotRequired[Literal[True]]
    """
    The earlier run completed the step; its details are from that run
    """


class StepCompletedData(TypedDict):
    step: StepReference
    summary: str | None
    usage: Usage | None
    duration_ms: int | None
    """
    Since the start of its first attempt
    """


class StepCompleted(TypedDict):
    """
    A step completed
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["step.completed"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: StepCompletedData


class StepFailedData(TypedDict):
    step: StepReference
    error: RunError
    retry_in_ms: float | None
    """
    Milliseconds until the next attempt; null if there is none
    """


class StepFailed(TypedDict):
    """
    A step attempt failed
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["step.failed"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: StepFailedData


class StepProgressData(TypedDict):
    step: StepReference
    percent: NotRequired[int]
    """
    Omitted if the agent does not know
    """
    text: NotRequired[str]
    """
    Message of the agent
    """


class StepProgress(TypedDict):
    """
    Progress of a step. Frequent reports are merged before they get a `seq`; the latest report wins
    """

    seq: int
    """
    1, 2, 3 … within a run, without gaps
    """
    type: Literal["step.progress"]
    execution_id: str
    at: str
    """
    When it happened
    """
    data: StepProgressData


class TaskDetail(TypedDict):
    execution_id: str
    state: Literal["initializing", "planning", "executing", "paused", "completed", "failed", "cancelled", "escalated"]
    project_id: str
    title: str
    description: str | None
    task_type: Literal["feature", "bug", "spec", "chore"]
    metadata: dict[str, Any]
    progress: Progress
    steps: list[Step]
    created_at: str
    started_at: str | None
    paused_at: str | None
    paused_by: str | None
    paused_ms: int
    """
    Milliseconds paused, without the current pause
    """
    completed_at: str | None
    duration_ms: int | None
    output: dict[str, Any] | None
    errors: list[RunError]
    escalation: Escalation | None
    callback: TaskDetailCallback
    status_url: str
    websocket_room: str
    last_seq: int
    """
    `seq` of the last event in this response
    """
    created_by: str
    """
    Submitter: `user:<e-mail>` or `key:<prefix>`
    """
    rerun_of: str | None
    """
    The run that this run reruns; null if there is none or it was erased
    """
    rerun_from: str | None
    """
    Step that the rerun starts from; null if the earlier run had no plan
    """
    question: Question | None
    """
    Question of an agent, while the run is paused for the answer
    """
    usage: Usage | None
    """
    Usage of all models in this run; null if no model was called
    """
    reruns: list[TaskDetailRerun]
    """
    The newest 100 reruns of this run, oldest first
    """


class Webhook(TypedDict):
    id: str
    name: str
    description: str | None
    url: str
    method: Literal["POST"]
    content_type: Literal["application/json"]
    events: list[WebhookSubscriptionStored]
    has_secret: bool
    include_secret_header: bool
    active: bool
    standard_webhooks: bool
    status: Literal["active", "inactive", "disabled"]
    """
    `disabled`: by repeated failures; `inactive`: by a user
    """
    consecutive_failures: int
    disabled_at: str | None
    disabled_reason: str | None
    previous_secret_until: str | None
    """
    Until when the previous secret also signs
    """
    listening: bool
    """
    Whether its deliveries go to a listener on the live channel instead of `url`
    """
    created_at: str
    updated_at: str


class WebhookEdit(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    """
    What the webhook is for. Null or an empty text: no description
    """
    url: NotRequired[str]
    method: NotRequired[Literal["POST"]]
    content_type: NotRequired[Literal["application/json"]]
    events: NotRequired[list[WebhookSubscription]]
    include_secret_header: NotRequired[bool]
    """
    Whether to send the secret in `X-Webhook-Secret`
    """
    allow_secret_over_http: NotRequired[bool]
    """
    Must be `true` in a request that makes Baton send `X-Webhook-Secret` to a new URL over plain http, except on this machine. Not stored
    """
    active: NotRequired[bool]
    """
    `true` also re-enables a webhook that was disabled by failures
    """
    standard_webhooks: NotRequired[bool]
    """
    Whether to also send the headers of Standard Webhooks; requires a secret
    """
    secret: NotRequired[str | None]
    """
    Replaces the old secret immediately; null: no secret. Required if the request makes Baton send `X-Webhook-Secret` to a new URL: repeat the current secret or set a new one
    """


class WebhookPlan(TypedDict):
    name: str
    description: NotRequired[str | None]
    """
    What the webhook is for. Null or an empty text: no description
    """
    url: str
    method: NotRequired[Literal["POST"]]
    content_type: NotRequired[Literal["application/json"]]
    events: list[WebhookSubscription]
    include_secret_header: NotRequired[bool]
    """
    Whether to send the secret in `X-Webhook-Secret`
    """
    allow_secret_over_http: NotRequired[bool]
    """
    Must be `true` in a request that makes Baton send `X-Webhook-Secret` to a new URL over plain http, except on this machine. Not stored
    """
    active: NotRequired[bool]
    standard_webhooks: NotRequired[bool]
    """
    Whether to also send the headers of Standard Webhooks; requires a secret
    """
    secret: NotRequired[str]
    """
    Signs deliveries; the HMAC key is its UTF-8 bytes. Never shown again
    """


FeedEvent: TypeAlias = StateChanged | StepStarted | StepProgress | StepCompleted | StepFailed | AgentMessage | EscalationRequested | CallbackAttempted | RunEnded
"""
One event of a run, in the order of `seq`
"""
