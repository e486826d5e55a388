/**
 * The limits that callers and users meet, in one place. docs/reference/limits.md lists them. Configurable limits are in
 * src/runtime/configuration.ts, those of internal queues with the code that uses them. Source: docs/http-api.md,
 * docs/callbacks.md, docs/webhooks.md, docs/receiving.md, docs/events.md, docs/channel.md, docs/agents.md.
 */

/** Size of a request body, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;
/** Length of the `title` of a task, in characters. */
export const MAX_TITLE_LENGTH = 200;
/** Length of the `description` of a task, in characters. */
export const MAX_DESCRIPTION_LENGTH = 100_000;
/** Size of the `metadata` of a task, in bytes of JSON. */
export const MAX_METADATA_BYTES = 16_384;
/** Nesting levels in the `metadata` of a task. */
export const MAX_METADATA_DEPTH = 64;
/** Length of a `callback_url`, in characters. */
export const MAX_URL_LENGTH = 2_048;
/** Length of the reason for a pause, a continue or a cancel, in characters. */
export const MAX_REASON_LENGTH = 1_000;
/** Timeout of a callback attempt, from the DNS lookup to the last byte, in milliseconds. */
export const CALLBACK_TIMEOUT_MS = 10_000;
/** Stored part of the response to a callback, in bytes. */
export const CALLBACK_RESPONSE_BYTES = 16_384;
/** Length of a step name, in characters. */
export const MAX_STEP_NAME_LENGTH = 63;
/** Length of a question of an agent, in characters. */
export const MAX_QUESTION_LENGTH = 4_000;
/** Length of the answer to an escalation, in characters, and answers that an agent gets, the last ones. */
export const MAX_ANSWER_LENGTH = 4_000;
export const MAX_STEP_ANSWERS = 10;
/** Documents per run, size of a document in bytes, and length of its name in characters. */
export const MAX_ARTIFACTS = 20;
export const MAX_ARTIFACT_BYTES = 1_048_576;
export const MAX_ARTIFACT_NAME_LENGTH = 200;
/** Size of a request of Temporal's tools to decrypt payloads, in bytes. Temporal limits a payload to 2 MiB. */
export const MAX_CODEC_BODY_BYTES = 16 * 1_048_576;
/** Steps per run. */
export const MAX_STEPS = 50;
/** Duration of a run without its paused time, unless set in `agents.yml`, in milliseconds. */
export const RUN_TIME_LIMIT_MS = 24 * 3_600_000;
/** Duration of a step attempt, unless set in `agents.yml`, in milliseconds. */
export const STEP_TIME_LIMIT_MS = 30 * 60_000;
/** `Prefer: wait=N`, in seconds. */
export const MAX_WAIT_SECONDS = 60;
/** Events of a run that one read of its MCP resource returns, and the maximum of `limit` in a list of events. */
export const MAX_LISTED_FEED_EVENTS = 500;
/** Rows per page: default and maximum. */
export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 200;
/** Retention of the first response to an Idempotency-Key, in milliseconds. */
export const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;
/** Lifetime of a token from `POST /api/v1/tokens`, in seconds. */
export const TOKEN_SECONDS = 15 * 60;
/** Attempts of a delivery, a callback, or the push notifications of a run, that are listed: the newest ones. */
export const MAX_LISTED_ATTEMPTS = 100;
/** Size of the payloads in a list of attempts, in bytes. The newest attempts have one, at least the last. */
export const MAX_LISTED_PAYLOAD_BYTES = 8_388_608;
/** Reruns in the detail of a run: the newest ones. */
export const MAX_LISTED_RERUNS = 100;
/** Events per request. */
export const MAX_EVENTS_PER_REQUEST = 500;
/** Errors that the response to any invalid request lists. Its `detail` contains the number of all errors. */
export const MAX_ERRORS = 1_000;
/** Errors that the response to invalid events lists, rounded up to whole events. */
export const MAX_EVENT_ERRORS = 100;
/** Length of an event id, in visible ASCII characters. */
export const MAX_EVENT_ID_LENGTH = 255;
/** Length of a webhook name, in characters. */
export const MAX_WEBHOOK_NAME_LENGTH = 200;
/** Length of the description of a webhook, in characters. */
export const MAX_WEBHOOK_DESCRIPTION_LENGTH = 1_000;
/** Length of a webhook secret, in characters. */
export const MAX_SECRET_LENGTH = 256;
/** Filters per subscribed event kind, and values per filter. */
export const MAX_FILTERS = 20;
export const MAX_FILTER_VALUES = 100;
/** Length of a filter value, in characters. */
export const MAX_FILTER_VALUE_LENGTH = 500;
/** Webhooks per workspace, unless configured otherwise. */
export const MAX_WEBHOOKS = 100;
/** Timeout of a delivery attempt, from the DNS lookup to the last byte, in milliseconds (docs/receiving.md). */
export const DELIVERY_TIMEOUT_MS = 30_000;
/** Stored part of the response to a delivery, in bytes. */
export const DELIVERY_RESPONSE_BYTES = 65_536;
/** Failed attempts in a row that disable a webhook (docs/webhooks.md). */
export const FAILURES_TO_DISABLE = 10;
/** Concurrent attempts per webhook in one process, unless configured otherwise. */
export const CONCURRENT_ATTEMPTS = 10;
/** Longest overlap of two secrets, in hours. */
export const MAX_SECRET_OVERLAP_HOURS = 168;
/** How far ahead a manual retry of a delivery can be scheduled, in days. */
export const MAX_RETRY_AHEAD_DAYS = 30;
/** Length of the search text of a delivery log and of a list of tasks, in characters. */
export const MAX_SEARCH_LENGTH = 200;
/** Fields of the metadata that a list of tasks can be filtered by at once. */
export const MAX_METADATA_FILTERS = 20;
/** Runs that a search finds by its index. If more match, it checks the newest runs instead. */
export const MAX_INDEXED_RUNS = 10_000;
/** Runs that are checked for a page of a list with filters, and for the `totalSize` of `ListTasks`. */
export const MAX_CHECKED_RUNS = 20_000;
/** Runs that one request can cancel or rerun by a filter. */
export const MAX_BULK_RUNS = 1_000;
/** Hours of a webhook's statistics. */
export const MAX_STATISTICS_HOURS = 168;
/** Length of the id of the object of an event, in characters. */
export const MAX_OBJECT_ID_LENGTH = 255;
/** Nesting levels in the `data` of an event. */
export const MAX_DATA_DEPTH = 64;
/** Concurrent channel connections per token and per process, unless configured otherwise. */
export const MAX_CONNECTIONS_PER_TOKEN = 1_000;
export const MAX_CONNECTIONS = 10_000;
/** Channel connections of all tokens of a key or person, in percent of those of the process. */
export const MAX_CONNECTIONS_OF_OWNER_PERCENT = 80;
/** Channel connections that have not authenticated, per address and per process, unless configured otherwise. */
export const MAX_HANDSHAKES_PER_ADDRESS = 200;
export const MAX_HANDSHAKES = 2_000;
/** Time in which a channel connection must authenticate, in milliseconds. */
export const HANDSHAKE_MS = 10_000;
/** Rooms per channel connection. */
export const MAX_ROOMS = 100;
/** Size of a client message on the channel, in bytes. The `answer` of a listener is the largest. */
export const MAX_CHANNEL_MESSAGE_BYTES = 131_072;
/** Requests of Socket.IO to connect, and to upgrade to a WebSocket, on one channel connection. They do not count as messages. */
export const MAX_CHANNEL_CONNECTS = 10;
/** Messages of a channel connection that wait for the previous ones. */
export const MAX_WAITING_MESSAGES = 200;
/** Messages per channel connection. */
export const CHANNEL_MESSAGES = { perSecond: 50, burst: 200 } as const;
/** Buffer of a slow channel client, in bytes. No more events are read for the client until it has received these. */
export const CHANNEL_PENDING_BYTES = 262_144;
/** Time after which a client that does not read its buffer is disconnected, in milliseconds. */
export const CHANNEL_STALL_MS = 30_000;
/** Time that a webhook counts as listened to after a heartbeat of its listener, and interval of heartbeats, in milliseconds. */
export const LISTENING_MS = 30_000;
export const LISTENING_HEARTBEAT_MS = 10_000;
/** Time that requests wait for a disconnected listener, in milliseconds. */
export const LISTENER_RECONNECT_MS = 5_000;
/** Time after which a webhook without a listener is deleted, in milliseconds. */
export const LISTENER_EXPIRY_MS = 60_000;
/** Webhooks that a channel connection can listen to. */
export const MAX_LISTENED = 10;
/** Headers in the answer of a listener, characters of a header value, and characters of a failure message. */
export const MAX_RELAYED_HEADERS = 200;
export const MAX_RELAYED_HEADER_LENGTH = 8_192;
export const MAX_RELAYED_MESSAGE_LENGTH = 300;
/** Length of the `id` of a plain client message, in characters. */
export const MAX_MESSAGE_ID_LENGTH = 64;
/** Length of a room name and of a token, in characters. */
export const MAX_ROOM_LENGTH = 200;
export const MAX_TOKEN_LENGTH = 8_192;
/** Sign-ins per IP address and minute, unless configured otherwise (docs/http-api.md). */
export const SIGN_INS_PER_MINUTE = 10;
/** Wrong passwords per account before the limit applies, and seconds until another one is allowed. */
export const WRONG_PASSWORDS = 10;
export const WRONG_PASSWORD_SECONDS = 60;
/** Wrong passwords per account from all IP addresses before the limit applies. Another one is allowed every 6 s. */
export const WRONG_PASSWORDS_OF_ACCOUNT = 100;
/** Length of a new password, in characters: minimum and maximum. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 1_000;
/** Length of an e-mail address and of a person's name, in characters. */
export const MAX_EMAIL_LENGTH = 320;
export const MAX_PERSON_NAME_LENGTH = 200;
/** Length of the name of a workspace, in characters. */
export const MAX_WORKSPACE_NAME_LENGTH = 200;
/** Length of the name of an API key and of a project, in characters. */
export const MAX_KEY_NAME_LENGTH = 200;
export const MAX_PROJECT_NAME_LENGTH = 200;
/** Longest overlap of two API keys, in hours. */
export const MAX_KEY_OVERLAP_HOURS = 720;
/** Length of the actor in a filter of the audit log or of tasks, in characters. */
export const MAX_ACTOR_LENGTH = 500;
/** Lifetime of an invitation, in milliseconds. */
export const INVITATION_MS = 7 * 24 * 3_600_000;
/** Open invitations per workspace. */
export const MAX_OPEN_INVITATIONS = 200;
/** Time limit of a sign-in at the OpenID provider, in milliseconds. */
export const OPENID_SIGN_IN_MS = 10 * 60_000;
/** Length of the return path of an OpenID sign-in, in characters. */
export const MAX_RETURN_TO_LENGTH = 1_000;
/** Deliveries in the snapshot of a webhook room, and deliveries that are read again after many changes. */
export const ROOM_DELIVERIES = 25;
export const ROOM_DELIVERIES_AGAIN = 100;
/** Pending delivery events of a slow client. Beyond it, the client gets one `webhook.changed` event. */
export const MAX_PENDING_DELIVERIES = 2_000;
/** Longest duration in `agents.yml`, in milliseconds: of runs, steps and waits before the next attempt. */
export const MAX_DURATION_MS = 365 * 24 * 3_600_000;
/** Longest `time_limit` of a step by a remote agent or a program, and `call_time` of a model, in milliseconds. */
export const MAX_ACTIVITY_TIME_LIMIT_MS = 24 * 3_600_000;
/** Model calls per step attempt: default and maximum in the catalogue. */
export const AGENT_MODEL_CALLS = 50;
export const MAX_MODEL_CALLS = 10_000;
/** Timeout of a model call, unless set in the catalogue, in milliseconds. */
export const MODEL_CALL_TIME_LIMIT_MS = 5 * 60_000;
/** Size of an agent's conversation, in bytes of JSON. Older parts are omitted. */
export const MAX_CONVERSATION_BYTES = 524_288;
/** Recorded part of the input and of the output of a call, in bytes of JSON. */
export const CALL_RECORD_BYTES = 16_384;
/** Size of an agent message in a feed event, in bytes. */
export const AGENT_MESSAGE_BYTES = 4_096;
/** Result of a step for later steps, and results of all earlier steps together, in bytes. */
export const STEP_RESULT_BYTES = 16_384;
export const EARLIER_RESULTS_BYTES = 65_536;
/** The result of a step in the output of its run, in bytes. */
export const OUTPUT_RESULT_BYTES = 4_096;
/** A step's summary, in characters. */
export const SUMMARY_LENGTH = 280;
/** Timeout of a tool call: default and maximum in the catalogue, in milliseconds. */
export const TOOL_TIME_LIMIT_MS = 60_000;
export const MAX_TOOL_TIME_LIMIT_MS = 30 * 60_000;
/** Messages of a remote agent per step attempt, as feed events. */
export const MAX_AGENT_MESSAGES = 500;
/** Size of a response of a model, a tool server, a remote agent or an identity provider, in bytes: as sent, and decompressed. */
export const MAX_RESPONSE_BYTES = 33_554_432;
/** In a rehearsal: a duration in milliseconds, progress events and failures of a step, and characters of a document. */
export const MAX_REHEARSAL_MS = 86_400_000;
export const MAX_REHEARSAL_PROGRESS_EVENTS = 1_000;
export const MAX_REHEARSAL_FAILURES = 100;
export const MAX_REHEARSAL_TEXT_LENGTH = 10_000;
/** Tools per agent. */
export const MAX_TOOLS = 64;
/** Size of a tool's answer to the model, in bytes. */
export const TOOL_ANSWER_BYTES = 16_384;
/** Tool definitions for a model, in bytes: description of a tool, schema of its arguments, and all tools together. */
export const TOOL_DESCRIPTION_BYTES = 2_048;
export const TOOL_SCHEMA_BYTES = 16_384;
export const ALL_TOOLS_BYTES = 131_072;
/** `step.progress` events per step attempt. Faster reports are merged; the latest report wins. */
export const PROGRESS_EVENTS = { perSecond: 5, burst: 25 } as const;
/** Concurrent tool calls of an agent. Further calls in the same turn return an error. */
export const MAX_CALLS_PER_TURN = 32;
/** Time limit of planning by a model, for all calls together, in milliseconds. */
export const PLANNING_TIME_LIMIT_MS = 10 * 60_000;
/** Age of the oldest accepted work that Temporal has not started, in seconds, above which nothing more is accepted. */
export const MAX_WAITING_SECONDS = 24 * 3_600;

/** Requests to pause or continue one run. */
export const RUN_PAUSES = { perSecond: 1, burst: 20 } as const;
/** Requests to retry the callback of one run. */
export const CALLBACK_RETRIES = { perSecond: 1, burst: 20 } as const;

/** How long a session lasts, in milliseconds. */
export const SESSION_MS = 14 * 24 * 3_600_000;
/** Time after which a session that is not used ends, in milliseconds. */
export const SESSION_IDLE_MS = 3 * 24 * 3_600_000;

/** Open event streams of one credential, and of all tokens of a key or person, in each process. */
export const MAX_EVENT_STREAMS = 100;
export const MAX_EVENT_STREAMS_OF_OWNER = 2_000;

/** Responses that a credential has requested and not received, in bytes, in each process. Responses below 64 KiB do not count. */
export const MAX_PENDING_RESPONSE_BYTES = 67_108_864;

/** Resources and tasks in one subscription over the Model Context Protocol. */
export const MAX_SUBSCRIBED_RESOURCES = 100;
/** Waiting requests (`Prefer: wait`, A2A's `SendMessage`) of one credential, and of all tokens of a key or person, in each process. */
export const MAX_WAITING_REQUESTS = 1_000;
export const MAX_WAITING_REQUESTS_OF_OWNER = 2_000;

/** Messages over A2A: parts, length of the id and of the context id in characters. */
export const MAX_A2A_PARTS = 100;
export const MAX_A2A_MESSAGE_ID_LENGTH = 1_000;
export const MAX_A2A_CONTEXT_ID_LENGTH = 200;
/** Nesting levels in the parameters of a request over A2A. */
export const MAX_A2A_DEPTH = 100;
/** Tasks per page of `ListTasks`: maximum. */
export const MAX_A2A_PAGE = 100;
/** Size of a page of `ListTasks`, in bytes of JSON. The task that exceeds it is the last one of the page. */
export const MAX_A2A_PAGE_BYTES = 8_388_608;
/** Addresses for push notifications of a task, length of the id of one in characters. */
export const MAX_A2A_PUSH_CONFIGS = 10;
export const MAX_A2A_PUSH_ID_LENGTH = 100;
/** Length of the token for push notifications and of the credentials of their receiver, in characters. */
export const MAX_A2A_PUSH_TOKEN_LENGTH = 1_000;
export const MAX_A2A_PUSH_CREDENTIALS_LENGTH = 8_192;
/** Time after which push notifications that nothing sends are sent by another process, in milliseconds. */
export const PUSH_CLAIM_MS = 60_000;
/** Messages in the history of a task over A2A, the last ones. */
export const MAX_A2A_HISTORY = 100;
/** Size of a text document that a task over A2A contains, in bytes. Other documents are links. */
export const MAX_A2A_INLINE_BYTES = 65_536;

/** Recent events that previews and suggestions of filters are based on, and their bytes in total. */
export const RECENT_EVENTS = { most: 100, bytes: 4_194_304 } as const;
/** Events of a filter preview. */
export const MAX_PREVIEW_EVENTS = 100;

/** Maximum age of the draft of a test delivery, in milliseconds. */
export const TEST_DRAFT_MS = 24 * 3_600_000;
