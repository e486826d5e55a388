import { createHmac } from 'node:crypto';
import type { Arrival, Books, DeliveryRow, Made, TaskBook, WebhookBook } from '../../faults/books.ts';
import type { Disturbance, WebhookName } from '../../faults/plan-disturbances.ts';
import type { PlannedTask } from '../../faults/plan-tasks.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { TaskState } from '../../src/domain/tasks/task-states.ts';

/** Times of this story, milliseconds since 1970. */
const AT = 1_800_000_000_000;
const SECRET = 'a secret';

type Ends = 'completed' | 'failed' | 'escalated' | 'cancelled';

/** The books of a small story in which everything went well: one run of each end, six webhooks with one event each. */
export function soundStory(): Books {
  const ends: Ends[] = ['completed', 'failed', 'escalated', 'cancelled'];
  const tasks = ends.map(taskOf);
  const feed = new Map(ends.map((state) => [`run-${state}`, feedOf(state)]));
  const webhooks = (
    [
      ['steady', 'issue.created', 204],
      ['filtered', 'issue.updated', 204],
      ['flaky', 'issue.updated', 204],
      ['breaking', 'issue.created', 204],
      ['clock', 'user.joined', 204],
      ['certificate', 'sprint.started', 204],
    ] as const
  ).map(([name, event]) => webhookOf(name, event));
  // The steady one takes two kinds.
  const second = { ...webhookOf('steady', 'issue.updated'), id: 'webhook-steady' };
  const deliveries = [...webhooks, second].map(deliveryOf);
  webhooks[0]?.arrivals.push(...second.arrivals);
  return {
    tasks,
    strangeAnswers: [],
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
      events: feedOf(state),
    })),
    callbacks: callbacksOf(ends.filter((state) => state !== 'cancelled')),
    webhooks,
    events: EVENTS.map((event) => ({ event, outcome: 'taken' as const })),
    storedEvents: EVENTS.map(({ id }) => id),
    deliveries,
    switchings: [
      { webhook_id: 'webhook-breaking', to: 'disabled', at: AT + 10_000 },
      { webhook_id: 'webhook-breaking', to: 'enabled', at: AT + 30_000 },
    ],
    notices: [{ subject: 'webhook:webhook-breaking', user: 'owner', disabledAt: 'then', count: 1 }],
    workflows: [
      { id: 'run-failed', type: 'taskRun', status: 'FAILED' },
      { id: 'run-completed', type: 'taskRun', status: 'COMPLETED' },
      { id: 'delivery:delivery-steady:1', type: 'webhookDelivery', status: 'RUNNING' },
    ],
    made: [
      madeOf({ at: 0, lasts: 20_000, lane: 'receivers', kind: 'clock' }),
      madeOf({ at: 0, lasts: 20_000, lane: 'receivers', kind: 'certificate' }),
    ],
    unbidden: [],
  };
}

const EVENTS = [
  { id: 'e-created', event: 'issue.created' as const, data: { issue: { priority: 'High' } } },
  { id: 'e-updated', event: 'issue.updated' as const, data: { issue: { priority: 'High' } } },
  { id: 'e-low', event: 'issue.moved' as const, data: { issue: { priority: 'Low' } } },
  { id: 'e-joined', event: 'user.joined' as const, data: {} },
  { id: 'e-sprint', event: 'sprint.started' as const, data: {} },
];

function madeOf(planned: Disturbance): Made {
  return { planned, from: AT + planned.at, to: AT + planned.at + planned.lasts, failure: null };
}

function taskOf(state: Ends): TaskBook {
  const plan: PlannedTask = {
    mark: `mark-${state}`,
    at: 0,
    sort: state === 'cancelled' ? 'is cancelled' : 'completes',
    rehearsal: {},
    ends: [state],
    wishes: state === 'cancelled' ? [{ after: 1, wish: 'cancel' }] : [],
    withCallback: true,
    givesUp: false,
    viewers: 1,
    viewerSeed: 1,
  };
  return {
    plan,
    ids: [`run-${state}`],
    secret: SECRET,
    told: [
      { asked: 'submit', status: 201 },
      { asked: 'poll', status: 200, state: 'executing', lastSeq: 2 },
      ...(state === 'cancelled' ? [{ asked: 'cancel' as const, status: 202 }] : []),
      { asked: 'poll', status: 200, state, lastSeq: 7 },
    ],
  };
}

function feedOf(state: Ends): FeedEvent[] {
  const changes: TaskState[] = ['planning', 'executing', 'paused', 'executing', state];
  const told: Pick<FeedEvent, 'type' | 'data'>[] = [
    ...changes.map((to) => ({ type: 'state.changed' as const, data: { to } })),
    { type: 'step.completed', data: { step: { id: 'one', attempt: 1 } } },
    { type: 'run.ended', data: { state } },
  ];
  return told.map((event, index) => ({
    seq: index + 1,
    execution_id: `run-${state}`,
    at: new Date(AT + index).toISOString(),
    ...event,
  }));
}

/** An arrival of a request with this body, signed and answered. */
export function arrivalOf(delivery: string, body: string, members: Partial<Arrival> = {}): Arrival {
  return {
    at: AT + 35_000,
    delivery,
    event: 'any',
    body,
    signature: `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    answered: 204,
    connection: 1,
    connectedAt: AT + 35_000,
    ...members,
  };
}

function callbacksOf(ends: readonly Ends[]): Books['callbacks'] {
  const bodyOf = (state: Ends) => JSON.stringify({ status: state });
  return {
    log: ends.map((state) => ({
      execution_id: `run-${state}`,
      attempt: 1,
      response_status: 204,
      failure: null,
      request_body: bodyOf(state),
    })),
    arrivals: ends.map((state) => arrivalOf(`run-${state}`, bodyOf(state))),
  };
}

/** Refused by a wrong clock, or not there for want of a certificate, and taken when it was put right. */
function webhookOf(name: WebhookName, kind: string): WebhookBook {
  const event = EVENTS.find((one) => one.event === kind);
  const body = JSON.stringify({ id: event?.id });
  const delivery = kind === 'issue.updated' ? `updated-${name}` : `delivery-${name}`;
  const refused = arrivalOf(delivery, body, { at: AT + 5_000, connectedAt: AT + 5_000, answered: 401 });
  const arrivals = [...(name === 'clock' ? [refused] : []), arrivalOf(delivery, body)];
  return { name, id: `webhook-${name}`, secret: SECRET, arrivals };
}

function deliveryOf({ name, id, arrivals }: WebhookBook): DeliveryRow {
  const attempt = (number: number, seconds: number, members = {}) => ({
    number,
    trigger: 'automatic',
    at: AT + seconds * 1_000,
    response_status: 204,
    failure: null,
    response_ms: 1_000,
    ...members,
  });
  const firsts = {
    clock: [attempt(1, 5, { response_status: 401, failure: 'status' })],
    certificate: [attempt(1, 5, { response_status: null, failure: 'tls_failed' })],
  };
  const before = firsts[name as keyof typeof firsts] ?? [];
  const last = attempt(before.length + 1, 35, name === 'flaky' ? { trigger: 'manual' } : {});
  const attempts = [...before, last];
  return {
    id: arrivals[0]?.delivery ?? '',
    webhook_id: id,
    event_id: JSON.parse(arrivals[0]?.body ?? '{}').id,
    status: 'succeeded',
    reason: null,
    attempts_count: attempts.length,
    body: arrivals[0]?.body ?? null,
    attempts,
  };
}
