import { setTimeout as wait } from 'node:timers/promises';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';

const PAUSES = 60;

/** Temporal's SDK answers queries also while a local activity records a change (src/workflows/signal-order.ts). */
describe('a run that is queried while it is paused and continued', function () {
  this.timeout(120_000);
  const runs = useRuns();

  it('has a history that can be replayed', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1, step_ms: 600_000 } });
    await runs.reaches(id, 'executing');
    const stop = new AbortController();
    const querying = query(id, stop.signal);
    for (let number = 1; number <= PAUSES; number += 1) {
      await runs.control.pause(id, { by: 'person' });
      await wait((number % 7) * 5);
      await runs.control.continue(id, { by: 'person' });
      await wait((number % 5) * 5);
    }
    await runs.becomes('the last pause is over', id, ({ state, last_seq }) => {
      return state === 'executing' && last_seq >= 4;
    });
    stop.abort();
    await querying;
    // A signal that arrives during a workflow task is in the history after that task.
    const history = await eventually('the history has all signals', async () => {
      const { events = [] } = await runs.client.workflow.getHandle(id).fetchHistory();
      const signals = events?.filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal);
      return signals?.length === 2 * PAUSES && { events };
    });
    await runs.control.cancel(id, { by: 'person' });
    await runs.ends(id);
    const bundle = await workflowBundle(new DefaultLogger('ERROR'));
    await Worker.runReplayHistory({ workflowBundle: bundle, replayName: id }, history);
  });

  async function query(id: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await runs.control.view(id);
      await wait(10);
    }
  }
});
