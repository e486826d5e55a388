/** The guarantees that the simulation checks, by their names in docs/explanation/guarantees.md. */
export const GUARANTEES = {
  delivered:
    'An event with the response 202 is delivered to every matching webhook **at least once**, or the log says why not',
  duplicates: 'Duplicates have the same `X-Service-Delivery` and the same bytes',
  order: 'For each webhook, events of one request start in their order',
  schedule: 'Six attempts over 15 hours, at fixed times',
  disabling: 'Ten failures in a row disable a webhook, once; no attempt begins after that is committed',
  change: 'A change of a webhook with many waiting deliveries delays no result of another webhook',
  held: 'Held deliveries stay held until someone recovers them',
  success: 'After a successful attempt, the schedule sends nothing more',
  log: 'The log contains no attempt that was not made',
  manual: 'A manual retry with the response 202 makes one attempt, or the delivery says why not',
  turns: 'A delivery worker takes turns among workspaces, and among the webhooks of a workspace.',
} as const;

export type Guarantee = keyof typeof GUARANTEES;

/** A guarantee that did not hold. `at` is the time in the world. */
export type Violation = { guarantee: Guarantee; what: string; at: number };

export type Report = (guarantee: Guarantee, what: string) => void;
