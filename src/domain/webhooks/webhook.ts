import { isLoopback } from '../common/loopback.ts';
import type { EventKind } from './event-kinds.ts';

/** Fields that a filter may name (docs/webhooks.md). */
export const FILTER_FIELDS = ['status', 'priority', 'type', 'assignee', 'project', 'environment'] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

/** Values that a filter compares a field with, exactly. */
export type FilterValue = string | number | boolean | null;

/** One of two conditions: the field changed to this value, or its current value is one of these. */
export type Filter =
  | { field: FilterField; changed_to: FilterValue }
  | { field: FilterField; values: FilterValue[] };

/** One subscribed kind. All its filters must match. */
export type Subscription = { event: EventKind; filters: Filter[] };

/** `disabled`: by consecutive failures, never by a user. `inactive`: by a user. */
export const WEBHOOK_STATUSES = ['active', 'inactive', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Returns the status of a webhook. `disabled` takes precedence over `inactive`. */
export function webhookStatus(webhook: {
  active: boolean;
  disabled_at: Date | string | null;
}): WebhookStatus {
  if (webhook.disabled_at !== null) return 'disabled';
  return webhook.active ? 'active' : 'inactive';
}

/** Returns whether a secret consists only of visible ASCII, so that a header can contain it unchanged. */
export function isHeaderSafe(secret: string): boolean {
  return /^[\x21-\x7e]+$/.test(secret);
}

/** The fields that decide whether and where the secret itself is sent. */
type SecretHeader = { url: string; include_secret_header: boolean };

/**
 * Returns whether a change lets a webhook send its secret to a URL that did not get it before. It requires the secret:
 * otherwise a person who cannot read the secret could send it to a receiver of their own.
 */
export function sendsSecretToNewUrl(before: SecretHeader, after: SecretHeader): boolean {
  return after.include_secret_header && (!before.include_secret_header || before.url !== after.url);
}

/**
 * Returns whether a change lets a webhook send its secret unencrypted to an address that did not get it before: over
 * http, except on this machine. It requires explicit consent, because anyone between Baton and the receiver can read the
 * secret.
 */
export function exposesSecret(before: SecretHeader, after: SecretHeader): boolean {
  return sendsSecretToNewUrl(before, after) && isUnencrypted(after.url);
}

function isUnencrypted(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' && !isLoopback(parsed.hostname);
}
