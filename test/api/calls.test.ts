import assert from 'node:assert/strict';
import { recordCall, type NewCall } from '../../src/database/agents/agent-calls.ts';
import { addWorkspace } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { useWorld } from '../support/world.ts';

describe('the calls of a run', function () {
  const world = useWorld();
  let id: string;
  let stepId: string;
  before(async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 2 } } });
    id = json.execution_id;
    stepId = (await world.reaches(id, 'completed')).json.steps[0].id;
  });

  const BEGAN = Date.parse('2026-01-31T12:00:00.000Z');
  const call = (number: number, more: Partial<NewCall> = {}): NewCall => ({
    place: { executionId: id, stepId, attempt: 1, number },
    kind: 'model',
    name: 'openai/gpt-x',
    input: { messages: [{ role: 'user', content: `call ${number}` }] },
    output: { text: 'yes' },
    truncated: false,
    usage: { input_tokens: 10, output_tokens: number, cost_usd: 0.25 },
    failure: null,
    startedAt: new Date(BEGAN + number * 1_000),
    duration_ms: 5,
    ...more,
  });
  const list = async (query = '') => (await world.send('GET', `/api/v1/tasks/${id}/calls${query}`)).json;
  const numbers = ({ data }: { data: { number: number }[] }) => data.map(({ number }) => number);

  it('are an empty list if no model was called', async () => {
    assert.deepEqual(await list(), { data: [], next_cursor: null });
    assert.equal((await world.send('GET', `/api/v1/tasks/${id}`)).json.usage, null);
  });

  it('are listed in the order of their start, with their duration and usage', async () => {
    for (const number of [2, 1, 4]) await recordCall(world.database, call(number));
    const tool = { kind: 'tool', name: 'fs__read_file', usage: null, failure: 'no such file' } as const;
    await recordCall(world.database, call(3, tool));
    const page = await list();
    assert.deepEqual(numbers(page), [1, 2, 3, 4]);
    const [first, , third] = page.data;
    assert.deepEqual(first, {
      step: 'step-1',
      agent: first.agent,
      attempt: 1,
      number: 1,
      kind: 'model',
      name: 'openai/gpt-x',
      input: { messages: [{ role: 'user', content: 'call 1' }] },
      output: { text: 'yes' },
      truncated: false,
      failure: null,
      started_at: '2026-01-31T12:00:01.000Z',
      duration_ms: 5,
      usage: { input_tokens: 10, output_tokens: 1, cost_usd: 0.25 },
    });
    assert.deepEqual([third.failure, third.usage], ['no such file', null]);
    assert.deepEqual(numbers(await list('?kind=tool')), [3]);
  });

  it('are paginated in a stable order while calls are added', async () => {
    const first = await list('?limit=2');
    assert.deepEqual(numbers(first), [1, 2]);
    await recordCall(world.database, call(5));
    const rest = await list(`?limit=2&cursor=${first.next_cursor}`);
    assert.deepEqual(numbers(rest), [3, 4]);
    const last = await list(`?limit=2&cursor=${rest.next_cursor}`);
    assert.deepEqual([numbers(last), last.next_cursor], [[5], null]);
    for (const limit of [1, 3]) {
      const pages: number[][] = [];
      for (let query: string | null = `?limit=${limit}`; query !== null; ) {
        const page = await list(query);
        pages.push(numbers(page));
        query = page.next_cursor === null ? null : `?limit=${limit}&cursor=${page.next_cursor}`;
      }
      assert.deepEqual(
        pages,
        limit === 1
          ? [[1], [2], [3], [4], [5]]
          : [
              [1, 2, 3],
              [4, 5],
            ],
      );
    }
  });

  it('add up to the usage of the run', async () => {
    const { json } = await world.send('GET', `/api/v1/tasks/${id}`);
    assert.deepEqual(json.usage, { input_tokens: 40, output_tokens: 12, model_calls: 4, cost_usd: 1 });
  });

  it('cannot be listed with invalid parameters', async () => {
    for (const query of [
      'cursor=x',
      `cursor=${Buffer.from('a b c d').toString('base64url')}`,
      'kind=all',
      'limit=0',
    ]) {
      assertProblem(await world.send('GET', `/api/v1/tasks/${id}/calls?${query}`), 400, 'bad_request');
    }
  });

  it('are hidden from other workspaces', async () => {
    const key = await addWorkspace(world);
    assertProblem(await world.send('GET', `/api/v1/tasks/${id}/calls`, { key }), 404, 'not_found');
  });
});
