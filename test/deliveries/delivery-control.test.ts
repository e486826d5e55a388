import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { createDeliveryControl } from '../../src/temporal/delivery-control.ts';

type Start = {
  type: string;
  workflowId: string;
  args: unknown[];
  startDelay?: unknown;
  place: [queue: string, eager: boolean | undefined];
};
type Options = Omit<Start, 'type' | 'place'> & { taskQueue: string; requestEagerStart?: boolean };

describe('the workflows of deliveries', () => {
  /** Returns operations on a Temporal that knows these workflows, and the starts that it has received. */
  function open(known: readonly string[] = []) {
    const starts: Start[] = [];
    const client = {
      withDeadline: (_deadline: unknown, call: () => Promise<unknown>) => call(),
      workflow: {
        async start(type: string, { workflowId, args, startDelay, ...rest }: Options) {
          const place: Start['place'] = [rest.taskQueue, rest.requestEagerStart];
          starts.push({ type, workflowId, args, place, ...(startDelay === undefined ? {} : { startDelay }) });
          if (known.includes(workflowId))
            throw new WorkflowExecutionAlreadyStartedError('known', workflowId, type);
          return { eagerlyStarted: rest.requestEagerStart === true };
        },
      },
    } as unknown as Client;
    return { control: createDeliveryControl({ client, taskQueue: 'test' }), starts };
  }

  it('dispatch several groups, the others without the first one if that has a workflow already', async () => {
    const all = open();
    await all.control.dispatch(['one', 'two', 'three']);
    const inputs = ({ starts }: typeof all) =>
      starts.map(({ workflowId, args: [input] }) => [workflowId, input]);
    const first = ['events:one', { groupId: 'one', groupIds: ['one', 'two', 'three'] }];
    assert.deepEqual(inputs(all), [first]);
    const others = open(['events:one']);
    await others.control.dispatch(['one', 'two', 'three']);
    const second = ['events:two', { groupId: 'two', groupIds: ['two', 'three'] }];
    assert.deepEqual(inputs(others), [first, second]);
    const none = open(['events:one', 'events:two']);
    assert.equal(await none.control.dispatch(['one', 'two'], { here: true }), false);
    assert.equal(none.starts.length, 2);
  });

  it('dispatch groups in a delivery worker, or at once in the process that accepted them', async () => {
    const { control, starts } = open();
    assert.equal(await control.dispatch(['one']), false);
    assert.equal(await control.dispatch(['two'], { here: true }), true);
    assert.deepEqual(
      starts.map(({ place }) => place),
      [
        ['test-deliveries', undefined],
        ['test-runs', true],
      ],
    );
  });

  it('start retries that are overdue at once, and others when they are due', async () => {
    const { control, starts } = open();
    await control.startRetries({ deliveryId: 'd1', generation: 0 }, -5_000);
    await control.startRetries({ deliveryId: 'd1', generation: 1 }, 60_000.4);
    assert.deepEqual(
      starts.map(({ workflowId, startDelay }) => [workflowId, startDelay]),
      [
        ['delivery:d1:0', 0],
        ['delivery:d1:1', 60_000],
      ],
    );
  });

  it('say whether an overdue retry is open already', async () => {
    const { control } = open(['delivery:d1:0', 'attempt:t1']);
    assert.equal(await control.startOverdueRetries({ deliveryId: 'd1', generation: 0 }), 'known');
    assert.equal(await control.startOverdueRetries({ deliveryId: 'd1', generation: 1 }), 'started');
    const input = { deliveryId: 'd1', trigger: 'manual', attempts: 0 } as const;
    assert.equal(await control.attemptOverdue({ ...input, token: 't1' }), 'known');
    assert.equal(await control.attemptOverdue({ ...input, token: 't2' }), 'started');
  });
});

describe('the operations on workflows of deliveries', () => {
  // Deadlines are then the limits themselves.
  beforeEach(() => void mock.method(Date, 'now', () => 0));
  afterEach(() => mock.reset());

  /** Returns operations on a Temporal whose calls fail with `failure`, and these calls with their deadlines. */
  function open(failure: Error | null = null) {
    const calls: unknown[][] = [];
    let deadline = 0;
    const called = async (...call: unknown[]): Promise<void> => {
      calls.push([deadline, ...call]);
      if (failure) throw failure;
    };
    const client = {
      async withDeadline(until: number, call: () => Promise<unknown>) {
        deadline = until;
        return await call();
      },
      workflow: {
        start: (type: string, options: object) => called('start', type, options),
        signalWithStart: (type: string, options: object) => called('signal', type, options),
        getHandle: (id: string) => ({
          terminate: (reason: string) => called('terminate', id, reason),
          result: () => called('result', id),
        }),
      },
    } as unknown as Client;
    return { control: createDeliveryControl({ client, taskQueue: 'test' }), calls };
  }

  const retries = { deliveryId: 'd1', generation: 3 };
  const requested = { deliveryId: 'd1', trigger: 'manual', token: 't1', attempts: 2 } as const;
  const once = { taskQueue: 'test-deliveries', workflowIdReusePolicy: 'REJECT_DUPLICATE' };
  const again = { taskQueue: 'test-deliveries', workflowIdReusePolicy: 'ALLOW_DUPLICATE' };
  const priority = (priorityKey: number) => ({ priority: { priorityKey } });

  it('call Temporal with the type, the id, the queue, the input and the priority of the work', async () => {
    const { control, calls } = open();
    const disabled = { webhookId: 'w1', disabledAt: '2026-01-31T12:00:00.000Z' };
    const escalated = { executionId: 'e1', escalatedAt: '2026-01-31T13:00:00.000Z' };
    const asked = { executionId: 'e1', askedAt: '2026-01-31T14:00:00.000Z' };
    await control.dispatch(['g1']);
    await control.dispatch(['g2'], { here: true });
    await control.drainBacklog('w1');
    await control.makeManualRetries('w1');
    await control.startRetries(retries, 60_000);
    await control.startOverdueRetries(retries);
    await control.attempt(requested);
    await control.attempt(requested, 1_500.6);
    await control.attemptOverdue(requested);
    await control.endAttempt('t1', 'replaced');
    await control.attemptAndWait({ ...requested, trigger: 'test' });
    for (const reason of [disabled, escalated, asked]) await control.notify(reason);
    const retrying = { workflowId: 'delivery:d1:3', args: [retries], ...priority(3) };
    const attempting = { workflowId: 'attempt:t1', args: [requested], ...priority(4) };
    const testing = { ...attempting, args: [{ ...requested, trigger: 'test' }], ...priority(2) };
    const dispatching = (id: string) => ({
      workflowId: `events:${id}`,
      args: [{ groupId: id, groupIds: [id] }],
      ...priority(2),
    });
    const more = (workflowId: string) => ({
      workflowId,
      taskQueue: 'test-deliveries',
      args: [{ webhookId: 'w1' }],
      signal: 'more',
      signalArgs: [],
      ...priority(4),
    });
    const notifying = (workflowId: string, reason: object) => ({ workflowId, args: [reason], ...once });
    assert.deepEqual(calls, [
      [10_000, 'start', 'dispatchEvents', { ...once, ...dispatching('g1') }],
      [
        10_000,
        'start',
        'dispatchEvents',
        { ...once, ...dispatching('g2'), taskQueue: 'test-runs', requestEagerStart: true },
      ],
      [3_000, 'signal', 'endpointBacklog', more('backlog:w1')],
      [3_000, 'signal', 'manualRetries', more('retries:w1')],
      [10_000, 'start', 'webhookDelivery', { ...once, ...retrying, startDelay: 60_000 }],
      [10_000, 'start', 'webhookDelivery', { ...again, ...retrying }],
      [10_000, 'start', 'webhookAttempt', { ...once, ...attempting }],
      [10_000, 'start', 'webhookAttempt', { ...once, ...attempting, startDelay: 1_501 }],
      [10_000, 'start', 'webhookAttempt', { ...again, ...attempting }],
      [3_000, 'terminate', 'attempt:t1', 'replaced'],
      [10_000, 'start', 'webhookAttempt', { ...once, ...testing }],
      [45_000, 'result', 'attempt:t1'],
      [10_000, 'start', 'notifyAdmins', notifying('notify:w1:2026-01-31T12:00:00.000Z', disabled)],
      [10_000, 'start', 'notifyAdmins', notifying('notify:e1:2026-01-31T13:00:00.000Z', escalated)],
      [10_000, 'start', 'notifyAdmins', notifying('notify:e1:2026-01-31T14:00:00.000Z', asked)],
    ]);
  });

  it('say what is known about the work if Temporal does not accept a call', async () => {
    const { control } = open(new Error('no connection'));
    const unavailable = { name: 'EngineUnavailable' };
    await assert.rejects(control.drainBacklog('w1'), unavailable);
    await assert.rejects(control.makeManualRetries('w1'), unavailable);
    await assert.rejects(control.endAttempt('t1', 'replaced'), unavailable);
    await assert.rejects(control.attempt(requested), { name: 'EngineUncertain' });
  });

  it('do nothing if the workflow of an attempt has ended', async () => {
    const { control, calls } = open(new WorkflowNotFoundError('ended', 'attempt:t1', undefined));
    await control.endAttempt('t1', 'replaced');
    assert.equal(calls.length, 1);
  });

  it('wait for the result of an attempt that was started before, and say if it is not recorded in time', async () => {
    const { control, calls } = open(new WorkflowExecutionAlreadyStartedError('known', 'attempt:t1', 'x'));
    await assert.rejects(control.attemptAndWait(requested), { name: 'AttemptPending' });
    assert.deepEqual(
      calls.map(([, name]) => name),
      ['start', 'result'],
    );
  });
});
