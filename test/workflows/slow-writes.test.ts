import { DefaultLogger, Worker } from '@temporalio/worker';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { whileRunLocked } from '../support/locked-run.ts';
import { submitLong } from '../support/long-runs.ts';
import { useRuns } from '../support/runs.ts';
import { endStep } from '../support/steps.ts';

const me = { by: 'key:test' };
/** Number of events from which the run continues as a new execution. */
const LIMIT = 80;

describe('a run whose history becomes long during a slow write', function () {
  this.timeout(180_000);
  const runs = useRuns();

  it('has a history that can be replayed', async () => {
    const id = await submitLong(runs, LIMIT, { rehearsal: { steps: 2, step_ms: 600_000 } });
    await runs.reaches(id, 'executing');
    const handle = runs.client.workflow.getHandle(id);
    const length = async () => (await handle.describe()).historyLength;
    for (let now = await length(); now < LIMIT - 9; now = await length()) {
      await runs.control.continue(id, me);
      const before = now;
      // Each signal gets a workflow task of its own: received, scheduled, started, completed.
      await eventually('the signal is handled', async () => (await length()) >= before + 4);
    }
    await whileRunLocked(runs, id, async () => {
      // The first step ends, and the write that follows lasts for several workflow tasks.
      await endStep(runs, id);
      await eventually('the history is long', async () => (await length()) >= LIMIT);
    });
    const history = await eventually('the second step works', async () => {
      const { events } = await handle.fetchHistory();
      const begun = events?.filter(({ activityTaskScheduledEventAttributes: step }) => step);
      return begun?.length === 2 && { events };
    });
    await runs.control.cancel(id, me);
    await runs.reaches(id, 'cancelled');
    const bundle = await workflowBundle(new DefaultLogger('ERROR'));
    await Worker.runReplayHistory({ workflowBundle: bundle, replayName: id }, history);
  });
});
