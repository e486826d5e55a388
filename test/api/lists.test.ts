import assert from 'node:assert/strict';
import { useOwnWorld } from '../support/world.ts';

describe('the list of tasks', () => {
  const world = useOwnWorld({ worker: false, environment: { EAGER_START: 'false' } });
  const ids: string[] = [];
  /** Prevents the runs from starting during the test. */
  const held = { rehearsal: { start_ms: 60_000 } };
  before(async () => {
    for (let number = 0; number < 7; number += 1) {
      const { json } = await world.submit({
        title: `Number ${number}`,
        task_type: number % 2 === 0 ? 'bug' : 'chore',
        metadata: { ticket: `T-${number}`, even: number % 2 === 0, ...held },
      });
      ids.push(json.execution_id);
    }
  });

  const list = async (query: string) => (await world.send('GET', `/api/v1/tasks?${query}`)).json;
  const idsOf = (page: { data: { execution_id: string }[] }) => page.data.map((run) => run.execution_id);

  it('is newest first', async () => {
    const page = await list('');
    assert.deepEqual(idsOf(page), ids.toReversed());
    assert.equal(page.next_cursor, null);
    assert.equal(page.data[0].title, 'Number 6');
    assert.ok(!('callback_secret' in page.data[0]));
  });

  it('contains the creator of each task', async () => {
    const cookie = await world.signIn();
    const { json } = await world.submit({ metadata: held, task_type: 'feature' }, world.as(cookie));
    const page = await list('limit=2');
    const { json: me } = await world.send('GET', '/api/v1/me');
    assert.deepEqual(
      page.data.map((run: { created_by: string }) => run.created_by),
      ['user:owner@example.com', me.label],
    );
    const { json: detail } = await world.send('GET', `/api/v1/tasks/${json.execution_id}`);
    assert.equal(detail.created_by, 'user:owner@example.com');
  });

  it('is paginated in a stable order while rows are inserted', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(`limit=3&task_type=bug,chore${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
      await world.submit({ task_type: 'spec', title: 'late', metadata: held });
      await world.submit({ task_type: 'chore', title: 'late', metadata: held });
    } while (cursor);
    assert.deepEqual(seen, ids.toReversed());
  });

  it('contains only tasks that match the filters', async () => {
    const titles = async (query: string) =>
      (await list(query)).data
        .map((run: { title: string }) => run.title)
        .filter((title: string) => title !== 'late');
    assert.deepEqual(await titles('task_type=bug'), ['Number 6', 'Number 4', 'Number 2', 'Number 0']);
    assert.deepEqual(await titles('metadata.ticket=T-3'), ['Number 3']);
    assert.deepEqual(await titles('metadata.even=true&metadata.ticket=T-2'), ['Number 2']);
    assert.deepEqual(await titles('metadata.even=no'), []);
    assert.deepEqual(await titles('state=completed,failed'), []);
    const { json: third } = await world.send('GET', `/api/v1/tasks/${ids[3]}`);
    const from = encodeURIComponent(third.created_at);
    assert.deepEqual(await titles(`created_before=${from}`), ['Number 2', 'Number 1', 'Number 0']);
    assert.deepEqual((await titles(`created_after=${from}&task_type=chore`)).at(-1), 'Number 3');
  });

  it('is empty after its end, and rejected for another project', async () => {
    assert.deepEqual((await list(`cursor=${ids[0]}`)).data, []);
    const received = await world.send('GET', '/api/v1/tasks?project_id=00000000-0000-7000-8000-000000000000');
    assert.equal(received.json.code, 'project_not_allowed');
  });
});
