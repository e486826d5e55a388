import assert from 'node:assert/strict';
import { WorkflowNotFoundError } from '@temporalio/client';
import { eventually } from '../support/eventually.ts';
import { useModels } from './model-world.ts';

/** Temporal looks for workflows to delete every ten seconds. */
const PATIENCE_MS = 150_000;

describe('an agent with a model', function () {
  this.timeout(200_000);
  const world = useModels();

  it('has its step retried after ten failed model calls', async () => {
    const away = { status: 503, headers: { 'retry-after-ms': '1' } };
    let calls = 0;
    const id = await world.play(() => (++calls <= 10 ? away : { text: 'Done.' }));
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.deepEqual([steps[0]?.attempt, calls], [2, 11]);
    const failed = (await world.runs.events(id)).find(({ type }) => type === 'step.failed');
    assert.match(JSON.stringify(failed?.data), /returned 503/);
  });

  it('leaves nothing in Temporal after its run is deleted', async () => {
    const { client } = world.runs;
    const id = await world.play(() => ({ text: 'Done.' }), { taskType: 'feature' });
    await world.runs.reaches(id, 'completed');
    await world.runs.ends(id);
    const all = await eventually('all three workflows are listed', async () => {
      const names = await namesOf(id);
      return names.length === 3 && names;
    });
    await world.runs.control.deleteRun(id);
    const isGone = (name: string) =>
      client.workflow
        .getHandle(name)
        .describe()
        .then(
          () => false,
          (error: unknown) => error instanceof WorkflowNotFoundError,
        );
    await Promise.all(all.map((name) => eventually(`${name} is gone`, () => isGone(name), PATIENCE_MS)));
  });

  /** Returns the ids of all workflows of a run. */
  async function namesOf(id: string): Promise<string[]> {
    const names: string[] = [];
    const query = `WorkflowId STARTS_WITH '${id}'`;
    for await (const { workflowId } of world.runs.client.workflow.list({ query })) names.push(workflowId);
    return names;
  }
});
