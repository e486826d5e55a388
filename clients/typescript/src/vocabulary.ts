/* Generated from the constants of the service by dev/docs/main.ts: states, codes and limits. */

export const TASK_STATES = ["initializing","planning","executing","paused","completed","failed","cancelled","escalated"] as const;
export const TERMINAL_STATES = ["completed","failed","cancelled","escalated"] as const;
export const CALLBACK_STATES = ["completed","failed","escalated"] as const;
export const EVENT_KINDS = ["issue.created","issue.updated","issue.deleted","issue.moved","comment.created","sprint.started","sprint.completed","project.created","user.joined","deployment.completed"] as const;
export const PROBLEM_CODES = ["malformed_json","bad_request","unauthenticated","project_not_allowed","forbidden","not_found","method_not_allowed","not_acceptable","request_timeout","invalid_state","conflict","payload_too_large","unsupported_media_type","validation_failed","idempotency_key_reused","rate_limited","headers_too_large","internal_error","unavailable"] as const;
export const CHANNEL_PATH = "/ws" as const;
export const MAX_EVENTS_PER_REQUEST = 500 as const;
export const MAX_WAIT_SECONDS = 60 as const;
export const MAX_BODY_BYTES = 1048576 as const;
