import assert from 'node:assert/strict';
import { join } from 'node:path';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns } from '../support/runs.ts';
import { isRunning } from './running.ts';

const PROGRAM = join(import.meta.dirname, '../support/command-agent.ts');
const EXAMPLE = join(import.meta.dirname, '../../examples/agents/command/word-count.mjs');
const TOKEN = 'tok-0987654321';

const CATALOGUE = `
agents:
  prog: { instructions: Do as the title says., command: { run: [${process.execPath}, ${PROGRAM}], env: [SERVICE_TOKEN] }, limits: { tokens: 1000, on_limit: escalate } }
  late: { instructions: Do as the title says., command: { run: [${process.execPath}, ${PROGRAM}], env: [SERVICE_TOKEN] } }
  counter: { instructions: Count., command: [${process.execPath}, ${EXAMPLE}] }
  nobody: { instructions: Is missing., command: [/nowhere/at-all] }
defaults: { run_time_limit: 10 min, step_time_limit: 5 min, retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: one, agent: prog }, { step: two, agent: prog }]
  bug: [{ step: one, agent: prog }]
  spec: [{ step: count, agent: counter }, { step: gone, agent: nobody, retry: { maximum_attempts: 1, initial_interval: 1 s, backoff_coefficient: 1, maximum_interval: 1 s } }]
  chore: [{ step: one, agent: late, time_limit: 3 s }]
`;

describe('an agent that is a program', function () {
  before(() => {
    process.env['SERVICE_TOKEN'] = TOKEN;
  });
  const runs = useOwnRuns({ agents: CATALOGUE });
  let lateRun: string;
  before(async () => {
    // Its time limit passes during the other tests.
    lateRun = await runs.submit({ taskType: 'chore', title: 'hangs' });
  });
  after(() => {
    delete process.env['SERVICE_TOKEN'];
  });

  const textsOf = async (id: string, type: string) =>
    (await runs.events(id))
      .filter((event) => event.type === type)
      .map(({ data }) => (data as { text: string }).text);
  async function calls(id: string) {
    const { rows } = await sql<{
      kind: string;
      name: string;
      failure: string | null;
      input_tokens: number | null;
    }>`
      select kind, name, failure, input_tokens from agent_calls where execution_id = ${id}::uuid order by started_at
    `.execute(queryBuilderOf(runs.database));
    return rows;
  }

  it('does the steps of a run, with its messages, usage and results for later steps', async () => {
    const id = await runs.submit({ title: 'tells' });
    const row = await runs.reaches(id, 'completed');
    assert.deepEqual(row.output, {
      backend: 'command',
      artifacts: [],
      summary: '2 of 2 steps completed',
      steps: [
        {
          name: 'one',
          agent: 'prog',
          backend: 'command',
          summary: 'one after nothing',
          result: 'one after nothing',
        },
        {
          name: 'two',
          agent: 'prog',
          backend: 'command',
          summary: 'two after one: one after nothing',
          result: 'two after one: one after nothing',
        },
      ],
    });
    assert.deepEqual(await textsOf(id, 'agent.message'), ['at one', 'at two']);
    assert.deepEqual(await textsOf(id, 'step.progress'), ['half', 'half']);
    assert.deepEqual(row.steps[0]?.usage, { input_tokens: 7, output_tokens: 3, model_calls: 1 });
    const recorded = { kind: 'model', name: 'command/prog', failure: null, input_tokens: 7 };
    assert.deepEqual(await calls(id), [recorded, recorded]);
  });

  it('runs the example of the documentation, and fails the run if its program is missing', async () => {
    const id = await runs.submit({ taskType: 'spec', title: 'Three short words' });
    const { output, errors } = await runs.reaches(id, 'failed');
    assert.match(JSON.stringify(output), /3 words in all/);
    assert.match(JSON.stringify(errors), /program not found: \/nowhere\/at-all/);
  });

  it('gets only the named environment variables, and its output contains no secret', async () => {
    const seen = await runs.reaches(
      await runs.submit({ taskType: 'bug', title: 'environment' }),
      'completed',
    );
    assert.match(JSON.stringify(seen.output), /"HOME PATH SERVICE_TOKEN"/);
    const id = await runs.submit({ taskType: 'bug', title: 'token' });
    const row = await runs.reaches(id, 'completed');
    assert.match(JSON.stringify(row.output), /the token is \[SERVICE_TOKEN\]/);
    const all = [JSON.stringify(row), JSON.stringify(await runs.events(id)), runs.logged()];
    assert.ok(all.every((text) => !text.includes(TOKEN)));
    const { rows } = await sql`select output::text from agent_calls`.execute(queryBuilderOf(runs.database));
    assert.ok(!JSON.stringify(rows).includes(TOKEN));
  });

  it('is retried by the policy of the step if it fails', async () => {
    const id = await runs.submit({ taskType: 'bug', title: 'fails once' });
    const row = await runs.reaches(id, 'completed');
    assert.equal(row.steps[0]?.attempt, 2);
    assert.equal(row.steps[0]?.summary, 'attempt 2');
  });

  const ENDS: [what: string, title: string, state: 'failed' | 'escalated', said: RegExp][] = [
    ['gives up', 'gives up', 'failed', /never/],
    ['asks for a human', 'escalates', 'escalated', /who decides\?/],
    ['ends without a result', 'dies', 'failed', /ended without a result \(exit code 7\)/],
    ['violates the protocol', 'babbles', 'failed', /not part of the protocol: Hello, I am an agent/],
    ['exceeds its token limit', 'takes much', 'escalated', /prog reached its limit of 1000 tokens/],
  ];
  for (const [what, title, state, said] of ENDS) {
    it(`ends the run as ${state}, with its message, if it ${what}`, async () => {
      const id = await runs.submit({ taskType: 'bug', title });
      const row = await runs.reaches(id, state);
      assert.match(JSON.stringify([row.errors, row.escalation]), said);
    });
  }

  async function pidsOf(id: string): Promise<number[]> {
    const text = await eventually(
      'its pids are recorded',
      async () => (await textsOf(id, 'agent.message')).at(-1) ?? null,
    );
    return text.replace('pids ', '').split(' ').map(Number);
  }

  it('is stopped with its child processes if the run is cancelled', async () => {
    const id = await runs.submit({ taskType: 'bug', title: 'hangs' });
    const pids = await pidsOf(id);
    assert.equal(pids.length, 2);
    await runs.control.cancel(id, { by: 'test' });
    await runs.reaches(id, 'cancelled');
    await eventually('both processes have ended', () => pids.every((pid) => !isRunning(pid)));
    await eventually('the call is recorded', async () =>
      /interrupted/i.test((await calls(id))[0]?.failure ?? ''),
    );
  });

  it('is stopped at the time limit of the step, and retried', async () => {
    const pids = await pidsOf(lateRun);
    const row = await runs.reaches(lateRun, 'failed');
    assert.equal(row.errors.at(-1)?.code, 'step_timed_out');
    assert.equal(row.errors.at(-1)?.message, 'took longer than 3000 ms');
    assert.ok(pids.every((pid) => !isRunning(pid)));
    assert.equal(row.steps[0]?.attempt, 2);
  });
});
