import { createHmac } from 'node:crypto';
import type {
  CallerRequest,
  RequestRecord,
  ScenarioRecords,
  DeliveryRow,
  InjectedFault,
  TaskRecord,
  WebhookRecord,
} from '../../faults/records.ts';
import type { PlannedFault, WebhookName } from '../../faults/plan-faults.ts';
import type { PlannedTask } from '../../faults/plan-tasks.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { TaskState } from '../../src/domain/tasks/task-states.ts';

/** The start of the scenario, milliseconds since 1970. */
const AT = 1_800_000_000_000;
const SECRET = 'a secret';

type FinalState = 'completed' | 'failed' | 'escalated' | 'cancelled';

/** Returns records without a violation: a run for each final state, and six webhooks with one event each. */
export function createPassingRecords(): ScenarioRecords {
  const ends: FinalState[] = ['completed', 'failed', 'escalated', 'cancelled'];
  const tasks = ends.map(createTask);
  const feed = new Map(ends.map((state) => [`run-${state}`, createFeed(state)]));
  const webhooks = (
    [
      ['steady', 'issue.created', 204],
      ['filtered', 'issue.updated', 204],
      ['flaky', 'issue.updated', 204],
      ['breaking', 'issue.created', 204],
      ['clock', 'user.joined', 204],
      ['certificate', 'sprint.started', 204],
    ] as const
  ).map(([name, event]) => createWebhook(name, event));
  // The steady webhook subscribes to two kinds.
  const second = { ...createWebhook('steady', 'issue.updated'), id: 'webhook-steady' };
  const deliveries = [...webhooks, second].map(createDelivery);
  webhooks[0]?.requests.push(...second.requests);
  return {
    tasks,
    unexpectedResponses: [],
    runs: ends.map((state) => ({
      id: `run-${state}`,
      mark: `mark-${state}`,
      state,
      callback_status: state === 'cancelled' ? 'none' : 'delivered',
      has_callback: true,
      last_seq: feed.get(`run-${state}`)?.length ?? 0,
      steps: [{ id: 'one', status: 'completed', attempt: 1 }],
    })),
    feed,
    viewers: ends.map((state) => ({
      executionId: `run-${state}`,
      client: 'ws',
      connections: 2,
      events: createFeed(state),
      receivedAt: [15, 19, 48, 65, 92, 96, 97],
    })),
    callbacks: createCallbacks(ends.filter((state) => state !== 'cancelled')),
    webhooks,
    events: EVENTS.map((event) => ({ event, outcome: 'accepted' as const })),
    storedEvents: EVENTS.map(({ id }) => id),
    deliveries,
    statusChanges: [
      { webhook_id: 'webhook-breaking', to: 'disabled', at: AT + 10_000 },
      { webhook_id: 'webhook-breaking', to: 'enabled', at: AT + 30_000 },
    ],
    notifications: [{ subject: 'webhook:webhook-breaking', user: 'owner', disabledAt: 'then', count: 1 }],
    workflows: [
      { id: 'run-failed', type: 'taskRun', status: 'FAILED' },
      { id: 'run-completed', type: 'taskRun', status: 'COMPLETED' },
      { id: 'delivery:delivery-steady:1', type: 'webhookDelivery', status: 'RUNNING' },
    ],
    faults: [
      createFault({ at: 0, durationMs: 20_000, lane: 'receivers', kind: 'clock' }),
      createFault({ at: 0, durationMs: 20_000, lane: 'receivers', kind: 'certificate' }),
    ],
    unexpectedExits: [],
  };
}

const EVENTS = [
  { id: 'e-created', event: 'issue.created' as const, data: { issue: { priority: 'High' } } },
  { id: 'e-updated', event: 'issue.updated' as const, data: { issue: { priority: 'High' } } },
  { id: 'e-low', event: 'issue.moved' as const, data: { issue: { priority: 'Low' } } },
  { id: 'e-joined', event: 'user.joined' as const, data: {} },
  { id: 'e-sprint', event: 'sprint.started' as const, data: {} },
];

function createFault(fault: PlannedFault): InjectedFault {
  return { fault, from: AT + fault.at, to: AT + fault.at + fault.durationMs, failure: null };
}

function createTask(state: FinalState): TaskRecord {
  const plan: PlannedTask = {
    mark: `mark-${state}`,
    at: 0,
    script: state === 'cancelled' ? 'is cancelled' : 'completes',
    rehearsal: {},
    finalStates: [state],
    commands: state === 'cancelled' ? [{ after: 1, command: 'cancel' }] : [],
    withCallback: true,
    givesUp: false,
    viewers: 1,
    viewerSeed: 1,
  };
  return {
    plan,
    ids: [`run-${state}`],
    secret: SECRET,
    requests: [
      createCallerRequest('submit', 0, 10, { status: 201 }),
      createCallerRequest('poll', 20, 30, { state: 'executing', lastSeq: 2 }),
      createCallerRequest('pause', 40, 50, { status: 202, state: 'paused', lastSeq: 3 }),
      createCallerRequest('continue', 60, 70, { status: 202, state: 'executing', lastSeq: 4 }),
      ...(state === 'cancelled'
        ? [createCallerRequest('cancel', 80, 95, { status: 202, state, lastSeq: 5 })]
        : []),
      createCallerRequest('poll', 100, 110, { state, lastSeq: 7 }),
    ],
  };
}

/** Returns a request that got a 200, unless `fields` says otherwise. */
export function createCallerRequest(
  operation: CallerRequest['operation'],
  sentAt: number,
  receivedAt: number | null,
  fields: Partial<CallerRequest> = {},
): CallerRequest {
  return { operation, sentAt, receivedAt, status: receivedAt === null ? null : 200, ...fields };
}

function createFeed(state: FinalState): FeedEvent[] {
  const changes: TaskState[] = ['planning', 'executing', 'paused', 'executing', state];
  const entries: Pick<FeedEvent, 'type' | 'data'>[] = [
    ...changes.map((to) => ({ type: 'state.changed' as const, data: { to } })),
    { type: 'step.completed', data: { step: { id: 'one', attempt: 1 } } },
    { type: 'run.ended', data: { state } },
  ];
  return entries.map((event, index) => ({
    seq: index + 1,
    execution_id: `run-${state}`,
    at: new Date(AT + index).toISOString(),
    ...event,
  }));
}

/** Returns a signed request with this body and a 204. */
export function createRequest(
  delivery: string,
  body: string,
  fields: Partial<RequestRecord> = {},
): RequestRecord {
  return {
    at: AT + 35_000,
    delivery,
    event: 'any',
    body,
    signature: `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    responseStatus: 204,
    connection: 1,
    connectedAt: AT + 35_000,
    ...fields,
  };
}

function createCallbacks(ends: readonly FinalState[]): ScenarioRecords['callbacks'] {
  const bodyOf = (state: FinalState) => JSON.stringify({ status: state });
  return {
    log: ends.map((state) => ({
      execution_id: `run-${state}`,
      attempt: 1,
      response_status: 204,
      failure: null,
      reconnected: false,
      request_body: bodyOf(state),
    })),
    requests: ends.map((state) => createRequest(`run-${state}`, bodyOf(state))),
  };
}

/** Returns a webhook with an accepted request, which the wrong clock rejected first. */
function createWebhook(name: WebhookName, kind: string): WebhookRecord {
  const event = EVENTS.find((candidate) => candidate.event === kind);
  const body = JSON.stringify({ id: event?.id });
  const delivery = kind === 'issue.updated' ? `updated-${name}` : `delivery-${name}`;
  const refused = createRequest(delivery, body, {
    at: AT + 5_000,
    connectedAt: AT + 5_000,
    responseStatus: 401,
  });
  const requests = [...(name === 'clock' ? [refused] : []), createRequest(delivery, body)];
  return { name, id: `webhook-${name}`, secret: SECRET, requests };
}

function createDelivery({ name, id, requests }: WebhookRecord): DeliveryRow {
  const attempt = (number: number, seconds: number, fields = {}) => ({
    number,
    trigger: 'automatic',
    at: AT + seconds * 1_000,
    response_status: 204,
    failure: null,
    response_ms: 1_000,
    reconnected: false,
    ...fields,
  });
  const firsts = {
    clock: [attempt(1, 5, { response_status: 401, failure: 'status' })],
    certificate: [attempt(1, 5, { response_status: null, failure: 'tls_failed' })],
  };
  const before = firsts[name as keyof typeof firsts] ?? [];
  const last = attempt(before.length + 1, 35, name === 'flaky' ? { trigger: 'manual' } : {});
  const attempts = [...before, last];
  return {
    id: requests[0]?.delivery ?? '',
    webhook_id: id,
    event_id: JSON.parse(requests[0]?.body ?? '{}').id,
    status: 'succeeded',
    reason: null,
    attempts_count: attempts.length,
    body: requests[0]?.body ?? null,
    attempts,
  };
}
