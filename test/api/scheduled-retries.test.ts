import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { cancelRetry } from '../../src/api/deliveries/retry.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { eventually } from '../support/eventually.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { type Received, useWorld } from '../support/world.ts';
import { assertProblem } from './problems.ts';

type Row = Received['json'];

describe('a scheduled retry of a delivery', () => {
  const world = useWorld();
  const { receiver, create } = useWebhooks(world);

  const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const schedule = (id: string, at: string, headers = {}) =>
    world.send('POST', `/api/v1/deliveries/${id}/retry`, { body: { at }, headers });
  const cancel = (id: string) => world.send('DELETE', `/api/v1/deliveries/${id}/retry`);
  const detail = async (id: string): Promise<Row> =>
    (await world.send('GET', `/api/v1/deliveries/${id}`)).json;
  const list = async (hook: string): Promise<Row[]> =>
    (await world.send('GET', `/api/v1/webhooks/${hook}/deliveries?limit=200`)).json.data;
  /** A webhook with so many deliveries whose first attempt has ended with this status. */
  async function deliveries(count: number, status: 'succeeded' | 'retrying') {
    receiver.answering(status === 'succeeded' ? 204 : 500);
    const hook = await create();
    const event = { event: 'issue.created', data: sampleData('issue.created') };
    const events = Array.from({ length: count }, () => event);
    await world.send('POST', '/api/v1/events', { body: { events } });
    const rows = await eventually('the first attempts', async () => {
      const found = await list(hook);
      return found.length === count && found.every((row) => row.status === status) && found;
    });
    receiver.answering(204);
    return { hook, ids: rows.map(({ id }) => id as string), rows };
  }
  async function delivery(status: 'succeeded' | 'retrying' = 'succeeded') {
    const { hook, ids, rows } = await deliveries(1, status);
    return { hook, id: ids[0] ?? '', row: rows[0] };
  }
  const actions = async (id: string): Promise<string[]> => {
    const { rows } = await sql<{ action: string }>`
      select action from audit_log where subject = ${`delivery:${id}`} order by id
    `.execute(queryBuilderOf(world.database));
    return rows.map(({ action }) => action);
  };
  /** The scheduled retries of a delivery as they are stored, in the order of their requests. */
  const stored = async (id: string): Promise<{ at: string; state: string }[]> => {
    const { rows } = await sql<{ at: string; state: string }>`
      select at, case when cancelled_at is not null then 'cancelled' when started_at is null then 'waits' else 'started' end
        as state
      from scheduled_retries where delivery_id = ${id} order by token
    `.execute(queryBuilderOf(world.database));
    return rows.map(({ at, state }) => ({ at: new Date(at).toISOString(), state }));
  };
  /** Cancels a retry while Temporal answers with an error. */
  const cancelDuring = async (error: Error, id: string) => {
    const endAttempt = async () => {
      throw error;
    };
    const deps = { database: world.database, clock: () => new Date(), deliveryControl: { endAttempt } };
    const request = { workspaceId: world.installation.workspace_id, actor: 'user:test', id };
    return await cancelRetry(deps as unknown as Dependencies, request);
  };
  const attempted = (id: string, count: number) =>
    eventually(`${count} attempts`, async () => {
      const row = await detail(id);
      return row.attempts_count === count && row;
    });

  it('is visible together with the automatic one, which stays as it was', async () => {
    const { hook, id, row } = await delivery('retrying');
    const at = inMs(3_600_000);
    const answer = await schedule(id, at);
    assert.equal(answer.status, 202, answer.text);
    for (const shown of [answer.json, await detail(id), (await list(hook))[0]]) {
      assert.equal(shown.scheduled_at, at);
      assert.equal(shown.next_attempt_at, row.next_attempt_at);
    }
  });

  it('is the next attempt where no automatic one is pending, and shows until it starts', async () => {
    const { id } = await delivery();
    assert.equal((await detail(id)).scheduled_at, null);
    const { json } = await schedule(id, inMs(400));
    assert.equal(json.next_attempt_at, json.scheduled_at);
    const row = await attempted(id, 2);
    assert.deepEqual([row.scheduled_at, row.next_attempt_at], [null, null]);
    assert.equal(row.attempts[1].trigger, 'manual');
  });

  it('no longer shows once the delivery succeeded, since it will not be made', async () => {
    const { id } = await delivery('retrying');
    await schedule(id, inMs(3_600_000));
    await world.send('POST', `/api/v1/deliveries/${id}/retry`);
    assert.equal((await attempted(id, 2)).scheduled_at, null);
  });

  it('is cancelled although Temporal is unavailable: its timer will have nothing to do', async () => {
    const { id } = await delivery();
    const at = inMs(3_600_000);
    await schedule(id, at);
    const unavailable = new EngineUnavailable('no response');
    assert.deepEqual(await cancelDuring(unavailable, id), { status: 204 });
    assert.deepEqual(await stored(id), [{ at, state: 'cancelled' }]);
    const later = await delivery();
    await schedule(later.id, at);
    await assert.rejects(cancelDuring(new Error('a fault'), later.id), /a fault/);
  });

  it('is one, however often the same time is requested, and each time with the same response', async () => {
    const { id } = await delivery();
    const at = inMs(3_600_000);
    const answers = await Promise.all(Array.from({ length: 5 }, () => schedule(id, at)));
    const later = await schedule(id, at, { 'Idempotency-Key': randomUUID() });
    for (const { status, text } of [...answers, later]) {
      assert.equal(status, 202, text);
      assert.equal(text, later.text);
    }
    assert.deepEqual(await stored(id), [{ at, state: 'waits' }]);
    assert.deepEqual(await actions(id), ['delivery.retried']);
  });

  it('is not made again by a repeat that arrives after it was made', async () => {
    const { id } = await delivery();
    const at = inMs(500);
    await schedule(id, at);
    await attempted(id, 2);
    assert.equal((await schedule(id, at)).status, 202);
    await world.send('POST', `/api/v1/deliveries/${id}/retry`);
    await attempted(id, 3);
    assert.equal(receiver.requests.length, 3);
  });

  it('is replaced by one at another time', async () => {
    const { id } = await delivery();
    const times = [inMs(3_600_000), inMs(7_200_000), inMs(1_800_000)];
    for (const at of times) assert.equal((await schedule(id, at)).json.scheduled_at, at);
    const states = ['cancelled', 'cancelled', 'waits'];
    assert.deepEqual(
      await stored(id),
      times.map((at, index) => ({ at, state: states[index] })),
    );
  });

  it('can be cancelled while it is replaced: one of both waits at any time', async () => {
    const { ids } = await deliveries(24, 'succeeded');
    await Promise.all(ids.map((id) => schedule(id, inMs(3_600_000))));
    const cancelled = ids.map(async (id) => {
      const [, { status, text }] = await Promise.all([schedule(id, inMs(7_200_000)), cancel(id)]);
      return `${status} ${text}`.trim();
    });
    assert.deepEqual([...new Set(await Promise.all(cancelled))], ['204']);
  });

  it('is cancelled once, also by two at once', async () => {
    const { id, row } = await delivery('retrying');
    const at = inMs(3_600_000);
    await schedule(id, at);
    for (const { status, text } of await Promise.all([cancel(id), cancel(id)]))
      assert.equal(status, 204, text);
    assert.equal((await cancel(id)).status, 204);
    const shown = await detail(id);
    assert.deepEqual([shown.scheduled_at, shown.next_attempt_at], [null, row.next_attempt_at]);
    assert.deepEqual(await actions(id), ['delivery.retried', 'delivery.retry_cancelled']);
  });

  it('can be scheduled again after it was cancelled, at the same time', async () => {
    const { id } = await delivery();
    const at = inMs(3_600_000);
    await schedule(id, at);
    assert.equal((await cancel(id)).status, 204);
    assert.equal((await schedule(id, at)).json.scheduled_at, at);
    assert.deepEqual(
      (await stored(id)).map(({ state }) => state),
      ['cancelled', 'waits'],
    );
    assert.equal((await cancel(id)).status, 204);
    assert.equal((await detail(id)).scheduled_at, null);
  });

  it('is either cancelled or made, if both happen at once', async () => {
    const { ids } = await deliveries(24, 'succeeded');
    const due = Date.now() + 1_200;
    await Promise.all(ids.map((id) => schedule(id, new Date(due).toISOString())));
    const outcomes = await Promise.all(
      ids.map(async (id, index) => {
        await new Promise((resolve) => setTimeout(resolve, due - Date.now() + (index - 4) * 25));
        return { id, status: (await cancel(id)).status };
      }),
    );
    for (const { id, status } of outcomes) {
      assert.ok([204, 409].includes(status), String(status));
      if (status === 409) await attempted(id, 2);
    }
    // A cancelled retry makes no attempt, even after all others were made.
    for (const { id, status } of outcomes.filter((one) => one.status === 204)) {
      assert.equal((await detail(id)).attempts_count, 1, String(status));
    }
  });

  it('cannot be cancelled where none is scheduled, or it has started', async () => {
    const { id } = await delivery();
    assertProblem(await cancel(id), 409, 'invalid_state');
    await schedule(id, inMs(500));
    await attempted(id, 2);
    assertProblem(await cancel(id), 409, 'invalid_state');
    assertProblem(await cancel(randomUUID()), 404, 'not_found');
  });
});
