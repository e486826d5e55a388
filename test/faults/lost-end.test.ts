import assert from 'node:assert/strict';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { applyEngineEnd } from '../../src/domain/tasks/engine-changes.ts';
import { runToStart } from '../../src/temporal/task-control.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { useRuns } from '../support/runs.ts';

describe('a run whose worker died after it recorded the end', () => {
  const runs = useRuns();
  const receiver = useCallbackReceiver('each test');

  it('is called back by the next worker, and ends in Temporal as it was recorded', async () => {
    const id = await runs.store({ rehearsal: { steps: 1 }, callbackUrl: receiver.url });
    const row = await runs.row(id);
    // The worker died before Temporal got the result of the workflow task, so the workflow starts again.
    const end = { state: 'failed', code: 'step_failed', message: 'it failed' } as const;
    const change = applyEngineEnd(viewOfRow(row), row.created_at, end, new Date());
    await recordChange(runs.database, { executionId: id, ...change });
    await runs.control.start(runToStart(row, false));
    const [request] = await receiver.receives(1);
    assert.equal(JSON.parse(request?.body.toString() ?? '').status, 'failed');
    await runs.ends(id);
    const { callback_status } = await runs.row(id);
    const { status } = await runs.client.workflow.getHandle(id).describe();
    assert.deepEqual([callback_status, status.name], ['delivered', 'FAILED']);
  });
});
