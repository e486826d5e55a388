/**
 * Where a delivery stands (docs/webhooks.md).
 * `pending`: accepted, its first attempt is to come or under way. `retrying`: failed, another attempt is scheduled.
 * `failed`: the schedule is used up. `held`: the webhook is disabled. `skipped`: not sent, for a reason that the row
 * names. `cancelled`: the webhook was deleted first.
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

/** What made an attempt: the schedule, a person, or the test button. */
export const ATTEMPT_TRIGGERS = ['automatic', 'manual', 'test'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/** In the place of a secret in what is logged. */
export const MASKED = '********';

/**
 * Milliseconds, to a tenth. A stage that was not reached is null, and so are connection and TLS where a connection
 * of an earlier attempt was used again.
 */
export type AttemptTimings = {
  lookup_ms: number | null;
  /** TCP, and the proxy's consent where there is one. */
  connect_ms: number | null;
  tls_ms: number | null;
  /** From handing the request over to the answer's headers. */
  first_byte_ms: number | null;
  /** From the start of the attempt to its end. */
  total_ms: number;
};
