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
