import type { components } from '../generated/payloads.ts';
import type { EVENT_KINDS } from '../vocabulary.ts';

type Schemas = components['schemas'];

/** The body of a callback: how a task ended, and with what. */
export type CallbackPayload = Schemas['Callback'];

/** The body of a delivery; `event` tells which. New members may come. */
export type WebhookPayload = Schemas[Exclude<keyof Schemas, 'Callback'>];

/** The body of a delivery of one kind, for example `WebhookPayloadOf<'issue.updated'>`. */
export type WebhookPayloadOf<Kind extends (typeof EVENT_KINDS)[number]> = Extract<
  WebhookPayload,
  { event: Kind }
>;
