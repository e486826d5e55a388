import { DefaultLogger, Worker } from '@temporalio/worker';
import { TASK_TYPES } from '../../src/domain/tasks/task-run.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { confirmed } from '../support/long-runs.ts';
import { announcedSeed, createRandom, type Random } from '../support/random.ts';
import { useRuns, type Runs } from '../support/runs.ts';

const me = { by: 'key:test' };

describe('a run with random pauses, continues and cancels', function () {
  this.timeout(120_000);
  const runs = useRuns();

  it('replays from its history, in forty variations', async () => {
    const random = createRandom(announcedSeed());
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, number) => playAtRandom(runs, number, random.fork())),
    );
    const bundle = await workflowBundle(new DefaultLogger('ERROR'));
    for (const id of ids) {
      await runs.ends(id);
      const history = await runs.client.workflow.getHandle(id).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: bundle, replayName: id }, history);
    }
  });
});

async function playAtRandom(runs: Runs, number: number, random: Random): Promise<string> {
  const below = (limit: number) => random.whole(0, limit - 1);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const taskType = TASK_TYPES[number % TASK_TYPES.length] ?? 'feature';
  const rehearsal = {
    step_ms: [0, 0, 20, 300][below(4)] ?? 0,
    progress_events: below(4),
    ...(below(3) === 0 ? { fail: { step: 2, times: 1 } } : {}),
    ...(below(8) === 0 ? { unrecoverable: { step: 2 } } : {}),
  };
  const id = await runs.submit({ taskType, rehearsal });
  for (let pauses = below(3); pauses > 0; pauses -= 1) {
    await wait(below(200));
    await confirmed(() => runs.control.pause(id, me));
    await wait(below(200));
    await confirmed(() => runs.control.continue(id, me));
  }
  if (below(6) === 0) await confirmed(() => runs.control.cancel(id, me));
  return id;
}
