import assert from 'node:assert/strict';
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
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
