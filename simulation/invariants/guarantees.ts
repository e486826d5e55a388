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
  turns: 'A process that sends webhooks takes turns among workspaces, and among the webhooks of a workspace.',
  accepted:
    'A submission with the response 201 is not lost, even if any process is killed immediately afterwards',
  control:
    'A pause, continue or cancel works from the moment the task is accepted, even before its workflow has started',
  idempotency:
    'The same `Idempotency-Key` and content create one run, however often and concurrently they are sent',
  end: 'A run has exactly one end, and nothing changes it afterwards',
  step: 'A step recorded as completed is not repeated',
  pause: 'During a pause nothing new starts, until someone continues the run',
  operator: "An operator's change in Temporal's Web UI is visible within 3 s",
  attempts: 'At most 3 automatic attempts, and none after a recorded success',
  callback:
    'The callback is delivered **at least once**, if the receiver responds with 2xx within 10 s to one of three attempts',
  callbackRetry: 'A manual retry that was accepted makes one attempt',
  stored: 'The run is stored as ended before the first attempt',
  bytes: 'The same bytes and signature in every attempt',
  seq: '`seq` counts 1, 2, 3 … in a run, without gaps or duplicates',
  committed: 'No event is sent before it is committed',
} as const;

export type Guarantee = keyof typeof GUARANTEES;

/** A guarantee that did not hold. `at` is the time in the world. */
export type Violation = { guarantee: Guarantee; what: string; at: number };

export type Report = (guarantee: Guarantee, what: string) => void;
