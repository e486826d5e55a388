import type { components } from '../generated/payloads.ts';
import type { EVENT_KINDS } from '../vocabulary.ts';

type Schemas = components['schemas'];

/** The body of a callback: the final state and the output of a task. */
export type CallbackPayload = Schemas['Callback'];

/** The body of a delivery. `event` is the event kind. Later versions may add fields. */
export type WebhookPayload = Schemas[Exclude<keyof Schemas, 'Callback'>];

/** The body of a delivery of one event kind, for example `WebhookPayloadOf<'issue.updated'>`. */
export type WebhookPayloadOf<Kind extends (typeof EVENT_KINDS)[number]> = Extract<
  WebhookPayload,
  { event: Kind }
>;
