import type { WebhookStatus } from '../../../../src/domain/webhooks/webhook.ts';
import type { Webhook } from './queries.ts';

/** What a webhook is to those who look at it: its status, and `failing` where its last attempts failed. */
export const HEALTH_STATES = ['active', 'failing', 'disabled', 'inactive'] as const satisfies readonly (
  | WebhookStatus
  | 'failing'
)[];
export type WebhookHealth = (typeof HEALTH_STATES)[number];

export function healthOf({ status, consecutive_failures: failures }: Webhook): WebhookHealth {
  return status === 'active' && failures > 0 ? 'failing' : status;
}

/** `9.6 %`; never 100 % where one failed, never 0 % where one succeeded. */
export function percent(rate: number): string {
  if (rate === 0 || rate === 1) return `${rate * 100} %`;
  return `${Math.min(99.9, Math.max(0.1, Math.round(rate * 1_000) / 10))} %`;
}

/** `1 attempt`, `1,204 attempts`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** `issue.created, issue.updated +2`: subscribed kinds, as many as there is room for. */
export function kindsInShort({ events }: Pick<Webhook, 'events'>, most = 2): string {
  const names = events.slice(0, most).map(({ event }) => event);
  return `${names.join(', ')}${events.length > most ? ` +${events.length - most}` : ''}`;
}
