import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { FEED_EVENT_TYPES, type FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { FEED_SCHEMAS, feedEvent } from '../../src/domain/tasks/feed-schemas.ts';
import { giveUpCallback } from '../../src/database/tasks/callbacks.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';
import { services } from '../support/services.ts';

/** Returns the events. @throws if one does not match the published schema */
function checked(events: readonly FeedEvent[]): readonly FeedEvent[] {
  for (const event of events) {
    const { error } = feedEvent.safeParse(event);
    assert.equal(error, undefined, `${JSON.stringify(event)}: ${error?.message}`);
  }
  return events;
}

describe('the schema of the events of a run', function () {
  const runs = useRuns();

  it('has a valid example of each type', () => {
    for (const type of FEED_EVENT_TYPES) {
      const schema = FEED_SCHEMAS[type];
      assert.equal(schema.parse(schema.meta()?.examples?.[0]).type, type);
    }
  });

  it('matches every type of event', async () => {
    const receiver = await startCallbackReceiver();
    receiver.answering(500);
    try {
      const recovering = await runs.submit({
        rehearsal: { steps: 2, step_ms: 60, progress_events: 3, fail: { step: 2, times: 1 } },
        callbackUrl: receiver.url,
      });
      const escalated = await runs.submit({ rehearsal: { steps: 2, escalate: { step: 2, reason: 'why?' } } });
      const unrecoverable = await runs.submit({ rehearsal: { steps: 2, unrecoverable: { step: 1 } } });
      await runs.reaches(recovering, 'completed');
      await runs.reaches(escalated, 'escalated');
      await runs.reaches(unrecoverable, 'failed');
      await receiver.receives(1);
      receiver.answering(204);
      await eventually('the callback is delivered', async () => {
        return (await runs.row(recovering)).callback_status === 'delivered';
      });
      const all = await Promise.all([recovering, escalated, unrecoverable].map((id) => runs.events(id)));
      const seen = new Set(checked(all.flat()).map(({ type }) => type));
      assert.deepEqual([...seen].toSorted(), FEED_EVENT_TYPES.toSorted());
    } finally {
      await receiver.close();
    }
  });

  it('matches the events of runs that people pause, continue and cancel', async () => {
    const id = await runs.submit({ rehearsal: { steps: 2, step_ms: 60_000 } });
    await runs.reaches(id, 'executing');
    await runs.control.pause(id, { by: 'key:test', reason: 'a look' });
    await runs.reaches(id, 'paused');
    await runs.control.continue(id, { by: 'key:test' });
    await runs.reaches(id, 'executing');
    await runs.control.cancel(id, { by: 'user:ada@example.com', reason: 'enough' });
    await runs.reaches(id, 'cancelled');
    checked(await runs.events(id));
  });

  it('matches the events of changes in the Temporal Web UI', async () => {
    const { workflowService } = runs.client;
    const id = await runs.submit({ rehearsal: { steps: 2, step_ms: 60_000 } });
    await runs.reaches(id, 'executing');
    const operator = { namespace: services().namespace, workflowId: id, identity: 'op', reason: 'a look' };
    await workflowService.pauseWorkflowExecution({ ...operator, requestId: randomUUID() });
    await runs.reaches(id, 'paused');
    await workflowService.unpauseWorkflowExecution({ ...operator, requestId: randomUUID() });
    await runs.reaches(id, 'executing');
    await runs.client.workflow.getHandle(id).terminate('enough');
    await runs.reaches(id, 'cancelled');
    const moves = checked(await runs.events(id)).filter(({ type }) => type === 'state.changed');
    assert.deepEqual(
      moves.slice(2).map(({ data }) => data['to']),
      ['paused', 'executing', 'cancelled'],
    );
  });

  it('matches the event of a callback that was given up', async () => {
    const id = await runs.store({ callbackUrl: 'https://localhost/nobody' });
    await giveUpCallback(runs.database, id, new Date());
    const [event] = checked(await runs.events(id));
    assert.equal(event?.type, 'callback.attempted');
  });
});
