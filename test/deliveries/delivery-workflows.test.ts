import assert from 'node:assert/strict';
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { host, importWorkflow } from '../support/workflow-api.ts';

const DELIVERY = { deliveryId: 'd1', generation: 2 };
const GROUPS = { groupId: 'g1', groupIds: ['g1', 'g2'] };
const BRIEF = {
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
};

/** Returns the failure of an activity with this cause. */
const failedBy = (cause: Error) =>
  new ActivityFailure('failed', 'x', '1', 'NON_RETRYABLE_FAILURE', 'w', cause);
const failureOf = (type: string) => ApplicationFailure.create({ message: 'why', type });
const rejecting = (error: Error) => async () => {
  throw error;
};

describe('the workflows of one delivery', () => {
  type Workflows = {
    webhookDelivery(input: object): Promise<unknown>;
    webhookAttempt(input: object): Promise<unknown>;
  };
  let workflows: Workflows;
  before(async () => {
    workflows = await importWorkflow<Workflows>('webhook-delivery.ts');
  });
  beforeEach(() => void (host.called = []));

  const options = {
    heartbeatTimeout: '8 s',
    startToCloseTimeout: '5 min',
    retry: { initialInterval: '1 s', maximumInterval: '30 s' },
  };

  it('make its attempts, and say whether all have failed', async () => {
    host.activities = { attemptDelivery: async () => {} };
    assert.deepEqual(await workflows.webhookDelivery(DELIVERY), { outcome: 'done' });
    assert.deepEqual(host.called, [
      { activity: 'attemptDelivery', options: { ...options, summary: 'delivery d1' }, input: DELIVERY },
    ]);
    host.activities = { attemptDelivery: rejecting(failedBy(failureOf('DeliveryFailed'))) };
    assert.deepEqual(await workflows.webhookDelivery(DELIVERY), { outcome: 'failed' });
  });

  it('fail for any other failure', async () => {
    for (const error of [
      failedBy(failureOf('NoFreePlace')),
      failedBy(new TimeoutFailure('late', undefined, 'START_TO_CLOSE')),
      failureOf('DeliveryFailed'),
    ]) {
      host.activities = { attemptDelivery: rejecting(error) };
      await assert.rejects(workflows.webhookDelivery(DELIVERY), error);
    }
  });

  it('make an attempt outside the schedule', async () => {
    host.activities = { attemptOnce: async () => {} };
    const input = { deliveryId: 'd1', trigger: 'test', token: 't1' };
    await workflows.webhookAttempt(input);
    assert.deepEqual(host.called, [{ activity: 'attemptOnce', options, input }]);
  });
});

describe('the workflow of groups of events', () => {
  type Workflow = (input: object) => Promise<unknown>;
  let dispatchEvents: Workflow;
  before(async () => {
    ({ dispatchEvents } = await importWorkflow<{ dispatchEvents: Workflow }>('dispatch-events.ts'));
  });
  beforeEach(() => void (host.called = []));

  const here = { activity: 'dispatchGroup', options: { isLocal: true, ...BRIEF }, input: GROUPS };
  const elsewhere = { ...here, options: { ...BRIEF, taskQueue: 'test-deliveries' } };
  const finishing = (input: object) => ({
    activity: 'finishGroup',
    options: {
      taskQueue: 'test-deliveries',
      heartbeatTimeout: '8 s',
      startToCloseTimeout: '10 min',
      retry: { initialInterval: '500 ms', maximumInterval: '10 s' },
    },
    input,
  });
  const run = async (result: object) => {
    host.activities = { dispatchGroup: async () => result, finishGroup: async () => {} };
    await dispatchEvents(GROUPS);
    return host.called.splice(0);
  };

  it('waits for slow attempts in a delivery worker, also for those of a previous version', async () => {
    assert.deepEqual(await run({ isFinished: true }), [here]);
    assert.deepEqual(await run({ isFinished: false }), [here, finishing(GROUPS)]);
    assert.deepEqual(await run({ unfinished: [] }), [here]);
    const unfinished = ['d1', 'd2'];
    assert.deepEqual(await run({ unfinished }), [here, finishing({ ...GROUPS, ids: unfinished })]);
  });

  it('sends them in a delivery worker if its own worker sends no webhooks, and only then', async () => {
    let tries = 0;
    host.activities = {
      async dispatchGroup() {
        tries += 1;
        if (tries === 1) throw failureOf('SendsNoWebhooks');
        return { isFinished: true };
      },
    };
    await dispatchEvents(GROUPS);
    assert.deepEqual(host.called.splice(0), [here, elsewhere]);
    const other = failureOf('Other');
    host.activities = { dispatchGroup: rejecting(other) };
    await assert.rejects(dispatchEvents(GROUPS), other);
    assert.deepEqual(host.called, [here]);
  });
});

describe('the workflow of mails', () => {
  it('tries for a day, and says how many it has sent', async () => {
    type Workflow = (input: object) => Promise<unknown>;
    const { notifyAdmins } = await importWorkflow<{ notifyAdmins: Workflow }>('notify-admins.ts');
    host.called = [];
    host.activities = { mailNotices: async () => ({ mailed: 2 }) };
    const input = { webhookId: 'w1', disabledAt: '2026-01-31T12:00:00.000Z' };
    assert.deepEqual(await notifyAdmins(input), { mailed: 2 });
    const options = {
      heartbeatTimeout: '8 s',
      startToCloseTimeout: '30 min',
      scheduleToCloseTimeout: '24 h',
      retry: { initialInterval: '10 s', backoffCoefficient: 2, maximumInterval: '30 min' },
    };
    assert.deepEqual(host.called, [{ activity: 'mailNotices', options, input }]);
  });
});
