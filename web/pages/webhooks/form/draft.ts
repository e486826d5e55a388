import { MAX_WEBHOOK_NAME_LENGTH } from '../../../../src/domain/common/limits.ts';
import { exposesSecret, type Subscription } from '../../../../src/domain/webhooks/webhook.ts';
import { randomHex } from '../../../forms/random.ts';
import type { Webhook } from '../parts/queries.ts';
import { draftFilter, subscriptionsOf, type DraftEvents } from './draft-filters.ts';

/** `keep`: the current secret, or none. */
export type SecretMode = 'keep' | 'generate' | 'paste' | 'none';

/** A webhook in the form. */
export type Draft = {
  name: string;
  description: string;
  url: string;
  events: DraftEvents;
  secretMode: SecretMode;
  generated: string;
  pasted: string;
  includeSecretHeader: boolean;
  allowSecretOverHttp: boolean;
  standardWebhooks: boolean;
  active: boolean;
};

const SECRET_BYTES = 32;

/** Returns 32 random bytes as 64 hex characters, like the server does. */
export function newSecret(): string {
  return randomHex(SECRET_BYTES);
}

/** Returns the initial values of the form: an empty webhook, or an existing one. */
export function draftOf(webhook?: Webhook): Draft {
  const common = { generated: newSecret(), pasted: '', allowSecretOverHttp: false };
  if (!webhook) {
    return {
      ...common,
      name: '',
      description: '',
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
    description: webhook.description ?? '',
    url: webhook.url,
    events: Object.fromEntries(subscriptions.map(({ event, filters }) => [event, filters.map(draftFilter)])),
    secretMode: 'keep',
    includeSecretHeader: webhook.include_secret_header,
    standardWebhooks: webhook.standard_webhooks,
    active: webhook.active,
  };
}

/** Returns whether a draft differs from the initial one. Another generated secret alone is no change. */
export function isChanged(draft: Draft, initial: Draft): boolean {
  return contentOf(draft) !== contentOf(initial);
}

function contentOf(draft: Draft): string {
  return JSON.stringify({ ...draft, generated: '', events: subscriptionsOf(draft.events) });
}

/** Returns the secret of the draft; undefined if it stays unchanged, null if it is removed. */
export function secretOf({ secretMode, generated, pasted }: Draft): string | null | undefined {
  if (secretMode === 'keep') return undefined;
  if (secretMode === 'none') return null;
  return secretMode === 'generate' ? generated : pasted;
}

/** Returns whether saving lets the secret be sent unencrypted to a new address. */
export function needsConsent({ url, includeSecretHeader }: Draft, before: Webhook | undefined): boolean {
  const after = { url: url.trim(), include_secret_header: includeSecretHeader };
  return exposesSecret(before ?? { url: '', include_secret_header: false }, after);
}

/** Returns the request body that creates a webhook, or changes `before`. */
export function bodyOf(draft: Draft, before: Webhook | undefined) {
  const secret = secretOf(draft);
  return {
    name: draft.name.trim() === '' ? nameFrom(draft.url) : draft.name,
    description: draft.description.trim() || null,
    url: draft.url.trim(),
    events: subscriptionsOf(draft.events),
    ...(secret === undefined || (!before && secret === null) ? {} : { secret }),
    include_secret_header: draft.includeSecretHeader,
    ...(needsConsent(draft, before) ? { allow_secret_over_http: draft.allowSecretOverHttp } : {}),
    standard_webhooks: draft.standardWebhooks,
    // Sending an unchanged `active` would re-enable a disabled webhook.
    ...(draft.active === before?.active ? {} : { active: draft.active }),
  };
}

/** Returns the default name of a webhook: the host of its URL. */
export function nameFrom(url: string): string {
  return URL.canParse(url) ? new URL(url).host.slice(0, MAX_WEBHOOK_NAME_LENGTH) : '';
}
