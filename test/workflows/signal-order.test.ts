import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { whileRunLocked } from '../support/locked-run.ts';
import { useRuns } from '../support/runs.ts';

describe('a run that gets signals after it was cancelled in the Temporal Web UI', function () {
  const runs = useRuns();

  it('records its end itself', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1, step_ms: 600_000 } });
    await runs.reaches(id, 'executing');
    const handle = runs.client.workflow.getHandle(id);
    await whileRunLocked(runs, id, async () => {
      await handle.cancel();
      await wait(200);
      // The worker learns of it after some seconds, while the end is still being written.
      await runs.control.pause(id, { by: 'person' });
      await eventually('the worker has got the signal', async () => {
        const { events } = await handle.fetchHistory();
        const last = events?.findLast(({ workflowTaskStartedEventAttributes: started }) => started);
        const signal = events?.find(({ workflowExecutionSignaledEventAttributes: signaled }) => signaled);
        return Number(last?.eventId) > Number(signal?.eventId);
      });
      await wait(1_000);
      assert.equal((await handle.describe()).status.name, 'RUNNING');
    });
    await runs.reaches(id, 'cancelled');
    const { status } = await eventually('it is closed', async () => {
      const now = await handle.describe();
      return now.closeTime ? now : null;
    });
    assert.equal(status.name, 'CANCELLED');
  });
});
