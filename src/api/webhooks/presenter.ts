import { webhookStatus } from '../../domain/webhook.ts';
import type { WebhookRow } from '../../database/webhooks.ts';

/** A webhook as everybody sees it: whether it has a secret, never which. */
export function presentWebhook(row: WebhookRow, now: Date) {
  const disabledAt = row.disabled_at ?? null;
  const until = row.previous_secret_until ?? null;
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    method: 'POST',
    content_type: 'application/json',
    events: row.events,
    has_secret: (row.secret ?? null) !== null,
    include_secret_header: row.include_secret_header,
    active: row.active,
    standard_webhooks: row.standard_webhooks,
    status: webhookStatus({ active: row.active, disabled_at: disabledAt }),
    consecutive_failures: row.consecutive_failures,
    disabled_at: disabledAt?.toISOString() ?? null,
    disabled_reason: row.disabled_reason ?? null,
    previous_secret_until: until !== null && until > now ? until.toISOString() : null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
