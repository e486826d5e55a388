import assert from 'node:assert/strict';
import { turnOf } from '../support/model-server.ts';
import { teamText, useModels } from './model-world.ts';

/** `LONG_WORK=1` plays the 2,000 calls with the thresholds of the service, which takes more than a minute. */
const IS_WHOLE = Boolean(process.env['LONG_WORK']);
const CALLS = IS_WHOLE ? 2_000 : 150;
const THRESHOLD = IS_WHOLE ? 4_000 : 300;

describe('an agent with many model calls', function () {
  this.timeout(IS_WHOLE ? 400_000 : 180_000);
  const world = useModels({
    agents: teamText({ limits: '{ model_calls: 2500 }' }).replaceAll(
      /(run|step)_time_limit: \d+ \w+/g,
      '$1_time_limit: 1 h',
    ),
    environment: { AGENT_HISTORY_EVENTS: String(THRESHOLD) },
  });

  it(`continues in new, short histories with unchanged results (${CALLS} calls)`, async () => {
    let made = 0;
    const before = { ...world.server.tokens };
    const id = await world.play(() => {
      made += 1;
      return made < CALLS
        ? { calls: [{ name: 'report_progress', arguments: { text: `call ${made}` } }] }
        : { text: 'Done at last.' };
    });
    const row = await world.runs.reaches(id, 'completed', IS_WHOLE ? 380_000 : 150_000);
    const [step] = row.steps;
    assert.equal(made, CALLS);
    assert.equal(step?.attempt, 1);
    assert.equal(step?.summary, 'Done at last.');
    assert.deepEqual(
      [step?.usage?.model_calls, step?.usage?.input_tokens, step?.usage?.output_tokens],
      [CALLS, world.server.tokens.input - before.input, world.server.tokens.output - before.output],
    );
    const lengths = await historyLengths(id);
    if (IS_WHOLE) console.log(`      events: ${lengths.join(', ')}`);
    assert.ok(lengths.length >= 4, `${lengths.length} histories`);
    assert.ok(Math.max(...lengths) <= THRESHOLD + 50, lengths.join(', '));
    const last = world.asked().at(-1);
    // The oldest of the 2,000 turns were omitted.
    if (!IS_WHOLE)
      assert.ok(last && turnOf(last) === CALLS, 'every history starts with the whole conversation');
  });

  /** Returns the number of events of each execution of the run's and its agents' workflows. */
  async function historyLengths(id: string): Promise<number[]> {
    const { client } = world.runs;
    await client.workflow.getHandle(id).result();
    const lengths: number[] = [];
    for await (const { workflowId, runId } of client.workflow.list({
      query: `WorkflowId STARTS_WITH '${id}'`,
    })) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      lengths.push(events?.length ?? 0);
    }
    return lengths;
  }
});
