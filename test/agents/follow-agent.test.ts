import assert from 'node:assert/strict';
import { CancelledFailure } from '@temporalio/activity';
import { ServiceError, WorkflowFailedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createFollowActivities } from '../../src/activities/agents/follow-agent.ts';

/** A run that continues as a new execution follows the agents of its earlier executions with an activity. */
describe('the activity that follows an agent', () => {
  const follow = async (workflow: { describe?: () => unknown; result?: () => unknown }) => {
    const client = { workflow: { getHandle: () => ({ describe: () => ({ closeTime: 1 }), ...workflow }) } };
    const { followAgent } = createFollowActivities(client as unknown as Client);
    return await new MockActivityEnvironment().run(followAgent, { workflowId: 'an agent' });
  };
  const failing = (error: Error) => async () => {
    throw error;
  };
  const ended = (cause: Error) => new WorkflowFailedError('failed', cause, 'NON_RETRYABLE_FAILURE');

  it('returns its result', async () => {
    assert.deepEqual(await follow({ result: async () => 'done' }), { result: 'done' });
  });

  it('says how it ended without one', async () => {
    const deleted = failing(new WorkflowNotFoundError('not found', 'an agent', undefined));
    assert.deepEqual(await follow({ describe: deleted }), { failed: 'deleted' });
    assert.deepEqual(await follow({ result: failing(ended(new CancelledFailure('x'))) }), {
      failed: 'cancelled',
    });
    assert.deepEqual(await follow({ result: failing(ended(new Error('it broke'))) }), { failed: 'it broke' });
  });

  it('fails if Temporal does not answer, so that it is repeated', async () => {
    const unavailable = new ServiceError('unavailable');
    await assert.rejects(follow({ describe: failing(unavailable) }), unavailable);
    await assert.rejects(follow({ result: failing(unavailable) }), unavailable);
  });
});
