import type { EventKind } from './event-kinds.ts';

/** Fields that a filter may name (docs/webhooks.md). */
export const FILTER_FIELDS = ['status', 'priority', 'type', 'assignee', 'project', 'environment'] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

/** What a field may be compared with; exactly. */
export type FilterValue = string | number | boolean | null;

/** Exactly one of the two: the field changed to this value, or its present value is one of these. */
export type Filter =
  | { field: FilterField; changed_to: FilterValue }
  | { field: FilterField; values: FilterValue[] };

/** One subscribed kind; all its filters are required. */
export type Subscription = { event: EventKind; filters: Filter[] };

/** `disabled`: by failures in a row, or by an admin's hand never; `inactive`: switched off by hand. */
export const WEBHOOK_STATUSES = ['active', 'inactive', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** What a webhook is right now. Disabled by failures goes before switched off. */
export function webhookStatus(webhook: {
  active: boolean;
  disabled_at: Date | string | null;
}): WebhookStatus {
  if (webhook.disabled_at !== null) return 'disabled';
  return webhook.active ? 'active' : 'inactive';
}

/** Visible ASCII alone: what can stand in a header as it is. */
export function isHeaderSafe(secret: string): boolean {
  return /^[\x21-\x7e]+$/.test(secret);
}
