/** Every limit of the service in one place. Source: specification 8, decisions 1 and 3. */

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
