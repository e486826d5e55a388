import type { components, operations } from '../clients/typescript/src/generated/api.ts';

/* The parts of the API's responses that the command line reads, from the generated types (`dev/types/client-types.ts`). */

type Schemas = components['schemas'];

export type Usage = Schemas['Usage'];
export type Submitted = Schemas['TaskSubmitted'];
export type Rerun = Schemas['TaskRerun'];
export type Listed = Schemas['TaskListed'];
export type Detail = Schemas['TaskDetail'];
export type CallbackAttempt = Schemas['CallbackAttempt'];
export type Artifact = Schemas['Artifact'];
export type AgentCall = Schemas['AgentCall'];
export type Webhook = Schemas['Webhook'];
export type Stats = Schemas['WebhookStats'];
export type Delivery = Schemas['ListedDelivery'];
export type DeliveryAttempt = Schemas['DeliveryAttempt'];
export type DeliveryDetail = Schemas['DeliveryDetail'];
/** The outcome of a webhook's filters for one event. */
export type Verdict = Schemas['FilterPreview']['data'][number];

type JsonOf<Name extends keyof operations, Status extends number> = operations[Name]['responses'] extends {
  [S in Status]: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;
export type EventType = JsonOf<'listEventTypes', 200>['data'][number];
/** What happened to an event that was sent. */
export type Accepted = Extract<JsonOf<'sendEvents', 202>, { id: string }>;

/** A complete list. */
export type CompleteList<T> = { data: T[] };
/** A list in pages. */
export type Page<T> = { data: T[]; next_cursor: string | null };
