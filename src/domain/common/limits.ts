/**
 * Every limit of the service in one place. Source: docs/http-api.md, docs/callbacks.md, docs/webhooks.md,
 * docs/receiving.md, docs/events.md, docs/channel.md, docs/agents.md.
 */

/** A request body, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;
/** `title` of a task, in characters. */
export const MAX_TITLE_LENGTH = 200;
/** `description` of a task, in characters. */
export const MAX_DESCRIPTION_LENGTH = 100_000;
/** `metadata` of a task, in bytes of its JSON text. */
export const MAX_METADATA_BYTES = 16_384;
/** `callback_url`, in characters. */
export const MAX_URL_LENGTH = 2_048;
/** A reason given for a pause or a cancel, in characters. */
export const MAX_REASON_LENGTH = 1_000;
/** One callback attempt from the name look-up to the last byte, in milliseconds. */
export const CALLBACK_TIMEOUT_MS = 10_000;
/** What is kept of the answer to a callback, in bytes. */
export const CALLBACK_RESPONSE_BYTES = 16_384;
/** The name of a step, in characters. */
export const MAX_STEP_NAME_LENGTH = 63;
/** What an agent asks a person, in characters. */
export const MAX_QUESTION_LENGTH = 4_000;
/** Documents that the agents of a run may leave behind, the bytes of each, and the name of one in characters. */
export const MAX_ARTIFACTS = 20;
export const MAX_ARTIFACT_BYTES = 1_048_576;
export const MAX_ARTIFACT_NAME_LENGTH = 200;
/** A request of Temporal's tools to open payloads, in bytes; one payload has 2 MiB at most there. */
export const MAX_CODEC_BODY_BYTES = 16 * 1_048_576;
/** Steps of one run. */
export const MAX_STEPS = 50;
/** A run without its paused time, unless `agents.yml` says otherwise, in milliseconds. */
export const RUN_TIME_LIMIT_MS = 24 * 3_600_000;
/** One attempt of a step, unless `agents.yml` says otherwise, in milliseconds. */
export const STEP_TIME_LIMIT_MS = 30 * 60_000;
/** `Prefer: wait=N`, in seconds. */
export const MAX_WAIT_SECONDS = 60;
/** Rows of a list answer: default and most. */
export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 200;
/** How long the first answer to an Idempotency-Key is kept, in milliseconds. */
export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000;
/** How long a token of `POST /api/v1/tokens` is good for, in seconds. */
export const TOKEN_SECONDS = 15 * 60;
/** Events of one request. */
export const MAX_EVENTS_PER_REQUEST = 500;
/** An event's id, in visible ASCII characters. */
export const MAX_EVENT_ID_LENGTH = 255;
/** A webhook's name, in characters. */
export const MAX_WEBHOOK_NAME_LENGTH = 200;
/** A webhook's secret, in characters. */
export const MAX_SECRET_LENGTH = 256;
/** Filters of one subscribed event, and values of one filter. */
export const MAX_FILTERS = 20;
export const MAX_FILTER_VALUES = 100;
/** Webhooks of a workspace, unless configured otherwise. */
export const MAX_WEBHOOKS = 100;
/** One delivery attempt from the name look-up to the last byte, in milliseconds (docs/receiving.md). */
export const DELIVERY_TIMEOUT_MS = 30_000;
/** What is read and kept of the answer to a delivery, in bytes. */
export const DELIVERY_RESPONSE_BYTES = 65_536;
/** Failed attempts in a row that disable a webhook (docs/webhooks.md). */
export const FAILURES_TO_DISABLE = 10;
/** Attempts at once for one webhook, in one delivery worker. */
export const ATTEMPTS_AT_ONCE = 10;
/** The longest overlap of two secrets, in hours. */
export const MAX_SECRET_OVERLAP_HOURS = 168;
/** The id of what an event is about, in characters. */
export const MAX_OBJECT_ID_LENGTH = 255;
/** Levels of objects and lists in an event's `data`. */
export const MAX_DATA_DEPTH = 64;
/** Connections to the channel at once, of one token and in one process, unless configured otherwise. */
export const MAX_CONNECTIONS_PER_TOKEN = 1_000;
export const MAX_CONNECTIONS = 10_000;
/** Rooms that one connection to the channel may be in. */
export const MAX_ROOMS = 100;
/** One message to the channel, in bytes; the answer of a listener is the longest. */
export const MAX_CHANNEL_MESSAGE_BYTES = 131_072;
/** Messages of one connection to the channel. */
export const CHANNEL_MESSAGES = { perSecond: 50, burst: 200 } as const;
/** What waits for one slow client of the channel, in bytes: more is not read for it until it has taken that. */
export const CHANNEL_PENDING_BYTES = 262_144;
/** A client that has not taken what waits for it by then is dropped, in milliseconds. */
export const CHANNEL_STALL_MS = 30_000;
/** How long a webhook counts as listened to after a sign of its listener, and how often there is one, in milliseconds. */
export const LISTENING_MS = 30_000;
export const LISTENING_SIGN_MS = 10_000;
/** How long requests wait for a listener whose connection was lost, in milliseconds. */
export const LISTENER_BACK_MS = 5_000;
/** A webhook that nobody listens to any more is deleted after this time, in milliseconds. */
export const LISTENER_GONE_MS = 60_000;
/** Webhooks that one connection to the channel may listen to. */
export const MAX_LISTENED = 10;
/** What a listener hands back of an answer: headers, characters of a value, of the sentence about a failure. */
export const MAX_RELAYED_HEADERS = 200;
export const MAX_RELAYED_HEADER_LENGTH = 8_192;
export const MAX_RELAYED_MESSAGE_LENGTH = 300;
/** The id that a plain client gives a message of its own, in characters. */
export const MAX_MESSAGE_ID_LENGTH = 64;
/** The name of a room, in characters; a token, in characters. */
export const MAX_ROOM_LENGTH = 200;
export const MAX_TOKEN_LENGTH = 8_192;
/** Sign-ins of one address in a minute, unless configured otherwise (docs/http-api.md). */
export const SIGN_INS_A_MINUTE = 10;
/** Wrong passwords of one account at once, and after how many seconds another one is allowed. */
export const WRONG_PASSWORDS = 10;
export const WRONG_PASSWORD_SECONDS = 60;
/** A new password, in characters. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 1_000;
/** An e-mail address and a person's name, in characters. */
export const MAX_EMAIL_LENGTH = 320;
export const MAX_PERSON_NAME_LENGTH = 200;
/** How long an invitation may be accepted, in milliseconds. */
export const INVITATION_MS = 7 * 24 * 3_600_000;
/** Invitations of a workspace that nobody has accepted yet. */
export const MAX_OPEN_INVITATIONS = 200;
/** How long somebody may take at the OpenID provider, in milliseconds. */
export const OPENID_SIGN_IN_MS = 10 * 60_000;
/** The page that a sign-in at the OpenID provider comes back to, in characters of its address. */
export const MAX_RETURN_TO_LENGTH = 1_000;
/** Deliveries that a webhook's room begins with, and that are read again after a change of much. */
export const ROOM_DELIVERIES = 25;
export const ROOM_DELIVERIES_AGAIN = 100;
/** Deliveries of which one slow client still has to be told; beyond, it is told that much has changed. */
export const MAX_OWED_DELIVERIES = 2_000;
/** Model calls of one attempt of a step: unless the catalogue says otherwise, and at most. */
export const AGENT_MODEL_CALLS = 50;
export const MAX_MODEL_CALLS = 10_000;
/** One model call, unless the catalogue says otherwise, in milliseconds. */
export const MODEL_CALL_TIME_LIMIT_MS = 5 * 60_000;
/** What an agent is shown of its own conversation, in bytes of JSON: of more, the oldest is left out. */
export const MAX_CONVERSATION_BYTES = 524_288;
/** What the record keeps of the input, and of the output, of one call, in bytes of JSON. */
export const CALL_RECORD_BYTES = 16_384;
/** What an agent says, as a feed event, in bytes. */
export const AGENT_MESSAGE_BYTES = 4_096;
/** What a step leaves to the ones after it, in bytes; of all earlier steps together, as a later one is told. */
export const STEP_RESULT_BYTES = 16_384;
export const EARLIER_RESULTS_BYTES = 65_536;
/** The result of a step in the output of its run, in bytes. */
export const OUTPUT_RESULT_BYTES = 4_096;
/** A step's summary, in characters. */
export const SUMMARY_LENGTH = 280;
/** One call of a tool, unless the catalogue says otherwise, and at most, in milliseconds. */
export const TOOL_TIME_LIMIT_MS = 60_000;
export const MAX_TOOL_TIME_LIMIT_MS = 30 * 60_000;
/** What an agent elsewhere says in one attempt of a step, as feed events. */
export const MAX_AGENT_MESSAGES = 500;
/** Tools that one agent may have. */
export const MAX_TOOLS = 64;
/** A tool's answer as the model gets it, in bytes. */
export const TOOL_ANSWER_BYTES = 16_384;
/** What a model is told of one tool: its description, and the schema of its arguments, in bytes; of all together. */
export const TOOL_DESCRIPTION_BYTES = 2_048;
export const TOOL_SCHEMA_BYTES = 16_384;
export const ALL_TOOLS_BYTES = 131_072;
/** `step.progress` events of one attempt of a step; reports that come faster are merged, the latest counts. */
export const PROGRESS_EVENTS = { perSecond: 5, burst: 25 } as const;
/** Tools that an agent may call at once; what its model asks for beyond is answered with an error. */
export const MAX_CALLS_A_TURN = 32;
/** Planning by a model, all its calls together, in milliseconds. */
export const PLANNING_TIME_LIMIT_MS = 10 * 60_000;
