import type { WebhookStatus } from '../../../../src/domain/webhooks/webhook.ts';
import type { Webhook } from '../../../api/webhooks.ts';

/** The health of a webhook: its status, or `failing` if it is active and its last attempts failed. */
export const HEALTH_STATES = ['active', 'failing', 'disabled', 'inactive'] as const satisfies readonly (
  | WebhookStatus
  | 'failing'
)[];
export type WebhookHealth = (typeof HEALTH_STATES)[number];

export function healthOf({ status, consecutive_failures: failures }: Webhook): WebhookHealth {
  return status === 'active' && failures > 0 ? 'failing' : status;
}

/** Returns `9.6%`. Never 100% if an attempt failed, never 0% if one succeeded. */
export function percent(rate: number): string {
  if (rate === 0 || rate === 1) return `${rate * 100}%`;
  return `${Math.min(99.9, Math.max(0.1, Math.round(rate * 1_000) / 10))}%`;
}

/** Returns `1 attempt`, `1,204 attempts`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Returns `issue.created, issue.updated +2`: the first subscribed kinds and the number of the others. */
export function kindsInShort({ events }: Pick<Webhook, 'events'>, most = 2): string {
  const names = events.slice(0, most).map(({ event }) => event);
  return `${names.join(', ')}${events.length > most ? ` +${events.length - most}` : ''}`;
}
