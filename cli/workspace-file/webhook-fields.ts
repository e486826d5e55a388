import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import type { Webhook } from '../shapes.ts';
import type { FieldChange, SecretSource } from './change.ts';
import type { WantedWebhook } from './schema.ts';

/** The fields of a webhook that a file describes, with all defaults. */
export type WebhookFields = {
  description: string | null;
  url: string;
  events: Webhook['events'];
  active: boolean;
  include_secret_header: boolean;
  standard_webhooks: boolean;
  has_secret: boolean;
};

/** Returns the fields that a webhook of a file will have. */
export function fieldsOfWanted(wanted: WantedWebhook): WebhookFields {
  const { url, events, active = true, has_secret = true } = wanted;
  const description = wanted.description || null;
  const { include_secret_header = false, standard_webhooks = false } = wanted;
  return { description, url, events, active, include_secret_header, standard_webhooks, has_secret };
}

/** Returns how two states of a webhook differ, without the secret. `before` is null for a new webhook. */
export function fieldChanges(before: WebhookFields | null, after: WebhookFields): FieldChange[] {
  const defaults = { active: true, include_secret_header: false, standard_webhooks: false };
  const flags = (['active', 'include_secret_header', 'standard_webhooks'] as const)
    .filter((field) => (before ?? defaults)[field] !== after[field])
    .map((field) => ({
      field,
      before: before === null ? null : String(before[field]),
      after: String(after[field]),
    }));
  const url =
    before?.url === after.url ? [] : [{ field: 'url', before: before?.url ?? null, after: after.url }];
  const description =
    (before?.description ?? null) === after.description
      ? []
      : [{ field: 'description', before: before?.description ?? null, after: after.description ?? 'none' }];
  return [...description, ...url, ...eventChanges(before?.events ?? [], after.events), ...flags];
}

/** Returns a row for each kind whose subscription differs. The order of kinds, filters and values does not matter. */
function eventChanges(before: Webhook['events'], after: Webhook['events']): FieldChange[] {
  return EVENT_KINDS.map((kind) => ({
    field: `events ${kind}`,
    before: subscriptionText(before, kind),
    after: subscriptionText(after, kind),
  })).filter((row) => row.before !== row.after);
}

/** Returns text that is the same for equal subscriptions only. Null: not subscribed. */
function subscriptionText(events: Webhook['events'], kind: string): string | null {
  const found = events.find(({ event }) => event === kind);
  if (found === undefined) return null;
  return found.filters.map(filterText).toSorted().join(' and ') || 'every event';
}

/** As JSON, which distinguishes `1` from `"1"`. */
function filterText({ field, values, changed_to: changedTo }: Webhook['events'][number]['filters'][number]) {
  if (values === undefined) return `${field}->${JSON.stringify(changedTo)}`;
  return `${field}=${values
    .map((value) => JSON.stringify(value))
    .toSorted()
    .join(',')}`;
}

/** Returns where the file says that the secret comes from. */
export function secretSourceOf({ secret_env: name, secret_file: path }: WantedWebhook): SecretSource {
  if (name !== undefined) return { from: 'environment', name };
  return path === undefined ? { from: 'generated' } : { from: 'file', path };
}

/** Returns the source for people. */
export function sourceText(source: SecretSource): string {
  switch (source.from) {
    case 'environment':
      return `from the environment variable ${source.name}`;
    case 'file':
      return `from the file ${source.path}`;
    case 'generated':
      return 'generated, shown once';
  }
}
