/**
 * Statuses of a delivery (docs/webhooks.md). `pending`: accepted, its first attempt is queued or in flight. `retrying`:
 * failed, another attempt is scheduled. `failed`: no attempts left. `held`: the webhook is disabled. `skipped`: not
 * sent, the row gives the reason. `cancelled`: the webhook was deleted first, or the payload is gone.
 */
export const DELIVERY_STATUSES = [
  'pending',
  'succeeded',
  'retrying',
  'failed',
  'held',
  'cancelled',
  'skipped',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The beginning of the part of a delivery's reason that says why a manual retry was not made. */
export const UNMADE_RETRY = 'a manual retry was not made at';

/** The reason of a delivery that was skipped because its webhook was inactive. Other skipped ones match no filter. */
export const INACTIVE_REASON = 'the webhook is inactive';

/** What started an attempt: the schedule, a person, or a test. */
export const ATTEMPT_TRIGGERS = ['automatic', 'manual', 'test'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/** Replaces a secret in logs. */
export const MASKED = '********';

/**
 * Milliseconds with one decimal. Null for a stage that was not reached, and for connection and TLS if an existing
 * connection was reused.
 */
export type AttemptTimings = {
  lookup_ms: number | null;
  /** TCP, and the proxy's response if there is a proxy. */
  connect_ms: number | null;
  tls_ms: number | null;
  /** From the start of the request to the headers of the response. */
  first_byte_ms: number | null;
  /** From the start of the attempt to its end. */
  total_ms: number;
  /**
   * True if the receiver closed a reused connection without a response, and the request was sent again on a new
   * connection; otherwise absent. The other times are then of the new connection.
   */
  reconnected?: boolean;
};
