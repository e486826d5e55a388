import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import { sql } from 'kysely';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { MAX_BULK_RUNS } from '../../src/domain/common/limits.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { addWorkspace } from '../support/people.ts';
import { newRunRow } from '../support/run-row.ts';
import { useWorld, type Sent } from '../support/world.ts';
import { assertProblem } from './problems.ts';

/** Keeps a run active until it is cancelled. */
const WAITING = { rehearsal: { steps: 1, ask: { step: 1, question: 'May I?' } } };
const FAILING = { rehearsal: { steps: 1, unrecoverable: { step: 1 } } };

describe('all tasks that match a filter', () => {
  const world = useWorld();
  const receiver = useCallbackReceiver('each test');

  const all = async (action: 'cancel' | 'rerun', body: unknown, sent: Sent = {}) =>
    await world.send('POST', `/api/v1/tasks/${action}`, { body, ...sent });
  const counted = async (action: 'cancel' | 'rerun', body: unknown, sent: Sent = {}): Promise<number> => {
    const { status, json } = await all(action, body, sent);
    assert.equal(status, 202, JSON.stringify(json));
    assert.deepEqual(Object.keys(json), ['count']);
    return json.count;
  };
  const submitted = async (batch: string, members: object): Promise<string> =>
    (await world.submit({ metadata: { batch, ...members } })).json.execution_id;
  const stateOf = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}`)).json.state;
  const list = async (batch: string) =>
    (await world.send('GET', `/api/v1/tasks?metadata.batch=${batch}`)).json.data;

  async function storeFailed(batch: string, id: string, at: Date): Promise<void> {
    const metadata = JSON.stringify({ batch, ...FAILING });
    await insertRun(world.database, newRunRow(world.installation, { id, created_at: at, metadata }));
    await sql`
      update task_runs set state = 'failed', started_at = created_at, completed_at = created_at where id = ${id}::uuid
    `.execute(queryBuilderOf(world.database));
  }

  it('are counted, and then cancelled with a reason', async () => {
    const batch = randomUUID();
    const ids = [await submitted(batch, WAITING), await submitted(batch, WAITING)];
    const other = await submitted(randomUUID(), WAITING);
    const failed = await submitted(batch, FAILING);
    for (const id of ids) await world.reaches(id, 'paused');
    await world.reaches(failed, 'failed');
    const filter = { 'metadata.batch': batch };
    assert.equal(await counted('cancel', { filter, dry_run: true }), 2);
    assert.deepEqual(await Promise.all(ids.map(stateOf)), ['paused', 'paused']);
    assert.equal(await counted('cancel', { filter, reason: 'the wrong batch' }), 2);
    for (const id of ids) await world.reaches(id, 'cancelled');
    const { json } = await world.send('GET', `/api/v1/tasks/${ids[0]}/events`);
    assert.match(JSON.stringify(json), /the wrong batch/);
    assert.equal(await counted('cancel', { filter }), 0);
    assert.notEqual(await stateOf(other), 'cancelled');
    assert.equal(await counted('cancel', { filter: { 'metadata.batch': batch, state: 'failed' } }), 0);
    // PostgreSQL rejects numbers with so many digits.
    assert.equal(await counted('cancel', { filter: { 'metadata.batch': '1'.repeat(140_000) } }), 0);
    await world.send('POST', `/api/v1/tasks/${other}/cancel`);
  });

  it('are rerun with the callback secrets that their receivers know', async () => {
    const batch = randomUUID();
    const callbacks = { callback_url: receiver.url };
    const { json } = await world.submit({ metadata: { batch, ...FAILING }, ...callbacks });
    await world.reaches(json.execution_id, 'failed');
    await receiver.receives(1);
    assert.equal(await counted('rerun', { filter: { 'metadata.batch': batch, state: ['failed'] } }), 1);
    const [, second] = await receiver.receives(2);
    assert.ok(second);
    const signature = String(second.headers['x-service-signature']);
    assert.ok(await verify(json.callback_secret, second.body.toString(), signature));
    assert.equal((await list(batch))[0].rerun_of, json.execution_id);
  });

  it('are rerun once if the request is repeated with its idempotency key', async () => {
    const batch = randomUUID();
    const id = await submitted(batch, FAILING);
    await world.reaches(id, 'failed');
    const sent = { headers: { 'Idempotency-Key': randomUUID() } };
    const body = { filter: { 'metadata.batch': batch } };
    assert.equal(await counted('rerun', body, sent), 1);
    assert.equal(await counted('rerun', body, sent), 1);
    assert.equal((await list(batch)).length, 2);
  });

  it('are rerun once if the process dies during the request, and their reruns are not rerun', async () => {
    const batch = randomUUID();
    const body = { filter: { 'metadata.batch': batch } };
    const sent = { headers: { 'Idempotency-Key': randomUUID() } };
    assert.equal(await counted('rerun', body, sent), 0);
    const hours = (ago: number) => new Date(Date.now() - ago * 3_600_000);
    for (const number of [1, 2])
      await storeFailed(batch, derivedUuid(hours(2), `${batch}${number}`), hours(2));
    const claimedAt = hours(1).toISOString();
    for (const _ of ['dies', 'is repeated']) {
      // As if a process had claimed the key, and had died before it responded.
      await sql`
        update idempotency_keys set answer = null, taken_at = null, created_at = ${claimedAt}::timestamptz
        where key = ${sent.headers['Idempotency-Key']}
      `.execute(queryBuilderOf(world.database));
      assert.equal(await counted('rerun', body, sent), 2);
      for (const { execution_id: id } of await list(batch)) await world.reaches(id, 'failed');
    }
    assert.equal((await list(batch)).length, 4);
  });

  it('are those of the project of the key only', async () => {
    const batch = randomUUID();
    const id = await submitted(batch, WAITING);
    await world.reaches(id, 'paused');
    const other = await addWorkspace(world);
    const filter = { 'metadata.batch': batch };
    assert.equal(await counted('cancel', { filter }, { key: other }), 0);
    assert.equal(await stateOf(id), 'paused');
    assert.equal(await counted('cancel', { filter: { ...filter, needs_me: true } }), 1);
  });

  for (const [what, body, pointer] of [
    ['no filter', {}, '/filter'],
    ['an empty filter', { filter: {} }, '/filter'],
    ['a filter that is a text', { filter: 'failed' }, '/filter'],
    ['a list of filters', { filter: [] }, '/filter'],
    ['null as the filter', { filter: null }, '/filter'],
    ['an unknown filter', { filter: { title: 'x' } }, '/filter/title'],
    ['an unknown state', { filter: { state: 'lost' } }, '/filter/state'],
    ['a page', { filter: { state: 'failed', limit: '10' } }, '/filter/limit'],
    [
      'a value of the metadata that is no text',
      { filter: { 'metadata.order': 1 } },
      '/filter/metadata.order',
    ],
    ['a reason for a rerun', { filter: { state: 'failed' }, reason: 'why' }, '/reason'],
  ] as const) {
    it(`are not changed by a request with ${what}`, async () => {
      const response = await all('rerun', body);
      assertProblem(response, 422, 'validation_failed');
      assert.deepEqual(
        response.json.errors.map((error: { pointer: string }) => error.pointer),
        [pointer],
      );
    });
  }

  it(`are refused if they are more than ${MAX_BULK_RUNS}`, async () => {
    const { workspace_id, project_id } = world.installation;
    const rows = Array.from({ length: MAX_BULK_RUNS + 1 }, () => newRunRow(world.installation));
    await sql`
      insert into task_runs (id, callback_secret, workspace_id, project_id, created_by, title, task_type, created_at,
        updated_at, state, started_at, completed_at)
      select id, callback_secret, ${workspace_id}::uuid, ${project_id}::uuid, 'key:test', 'many', 'chore', now(), now(),
        'failed', now(), now()
      from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.callback_secret)}::text[])
        as row (id, callback_secret)
    `.execute(queryBuilderOf(world.database));
    const filter = { q: 'many' };
    assert.equal(await counted('rerun', { filter, dry_run: true }), MAX_BULK_RUNS + 1);
    const response = await all('rerun', { filter });
    assertProblem(response, 422, 'validation_failed');
    assert.equal(response.json.errors[0].code, 'too_large');
    assert.equal(await counted('rerun', { filter, dry_run: true }), MAX_BULK_RUNS + 1);
  });
});
