import { EVENT_KINDS, type EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import { MAX_WEBHOOK_NAME_LENGTH } from '../../../../src/domain/common/limits.ts';
import type {
  Filter,
  FilterField,
  FilterValue,
  Subscription,
} from '../../../../src/domain/webhooks/webhook.ts';
import type { Webhook } from '../parts/queries.ts';

/** One filter while it is being written; `key` tells it from its neighbours. */
export type DraftFilter = {
  key: number;
  field: FilterField;
  operator: 'changed_to' | 'values';
  /** One for `changed_to`. */
  values: FilterValue[];
};

/** `keep`: the one that is there, or none where none is. */
export type SecretMode = 'keep' | 'generate' | 'paste' | 'none';

/** A webhook while somebody writes it. */
export type Draft = {
  name: string;
  url: string;
  /** The subscribed kinds with their filters. */
  events: Partial<Record<EventKind, DraftFilter[]>>;
  secretMode: SecretMode;
  generated: string;
  pasted: string;
  includeSecretHeader: boolean;
  standardWebhooks: boolean;
  active: boolean;
};

const SECRET_BYTES = 32;

/** 32 random bytes as 64 hex characters, as the service itself makes them. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What a form begins with: an empty webhook, or one that is there. */
export function draftOf(webhook?: Webhook): Draft {
  const common = { generated: newSecret(), pasted: '' };
  if (!webhook) {
    return {
      ...common,
      name: '',
      url: '',
      events: {},
      secretMode: 'generate',
      includeSecretHeader: false,
      standardWebhooks: false,
      active: true,
    };
  }
  const subscriptions = webhook.events as Subscription[];
  return {
    ...common,
    name: webhook.name,
    url: webhook.url,
    events: Object.fromEntries(subscriptions.map(({ event, filters }) => [event, filters.map(draftFilter)])),
    secretMode: 'keep',
    includeSecretHeader: webhook.include_secret_header,
    standardWebhooks: webhook.standard_webhooks,
    active: webhook.active,
  };
}

let lastKey = 0;

/** A filter with a key of its own. */
export function newFilter(fields: Omit<DraftFilter, 'key'>): DraftFilter {
  lastKey += 1;
  return { key: lastKey, ...fields };
}

function draftFilter(filter: Filter): DraftFilter {
  return 'values' in filter
    ? newFilter({ field: filter.field, operator: 'values', values: filter.values })
    : newFilter({ field: filter.field, operator: 'changed_to', values: [filter.changed_to] });
}

/** The subscriptions as the API takes them, in the order of the tree. What is not filled in yet stays so. */
export function subscriptionsOf({ events }: Pick<Draft, 'events'>): Subscription[] {
  return EVENT_KINDS.flatMap((event) => {
    const filters = events[event];
    return filters ? [{ event, filters: filters.map(filterOf) }] : [];
  });
}

function filterOf({ field, operator, values }: DraftFilter): Filter {
  return operator === 'values' ? { field, values } : { field, changed_to: values[0] ?? '' };
}

/** The subscriptions without the filters that say nothing yet, to try them out while they are written. */
export function completeSubscriptions({ events }: Pick<Draft, 'events'>): Subscription[] {
  const written = Object.entries(events).map(
    ([event, filters]) => [event, filters.filter(({ values }) => values.length > 0)] as const,
  );
  return subscriptionsOf({ events: Object.fromEntries(written) });
}

/** The secret that the draft would give; undefined where it stays as it is, null where it is taken away. */
export function secretOf({ secretMode, generated, pasted }: Draft): string | null | undefined {
  if (secretMode === 'keep') return undefined;
  if (secretMode === 'none') return null;
  return secretMode === 'generate' ? generated : pasted;
}

/** The body that makes a webhook, or changes the given one. */
export function bodyOf(draft: Draft, before: Webhook | undefined) {
  const secret = secretOf(draft);
  return {
    name: draft.name.trim() === '' ? nameFrom(draft.url) : draft.name,
    url: draft.url.trim(),
    events: subscriptionsOf(draft),
    ...(secret === undefined || (!before && secret === null) ? {} : { secret }),
    include_secret_header: draft.includeSecretHeader,
    standard_webhooks: draft.standardWebhooks,
    // Said again, it would re-enable one that failures have disabled.
    ...(draft.active === before?.active ? {} : { active: draft.active }),
  };
}

/** What a webhook is called where nobody says: the name of its machine. */
export function nameFrom(url: string): string {
  return URL.canParse(url) ? new URL(url).host.slice(0, MAX_WEBHOOK_NAME_LENGTH) : '';
}
