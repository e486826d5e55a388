import assert from 'node:assert/strict';
import { CALLBACK_RETRIES } from '../../src/domain/common/limits.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { eventually } from '../support/eventually.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { useWorld, type Sent } from '../support/world.ts';
import { keyWith } from './keys.ts';
import { assertProblem } from './problems.ts';

type Attempt = { attempt: number; trigger: string; response_status: number | null };

describe('sending a failed callback again', function () {
  const world = useWorld();
  const receiver = useCallbackReceiver('each test');

  const retry = (id: string, sent: Sent = {}) =>
    world.send('POST', `/api/v1/tasks/${id}/callback/retry`, sent);
  const read = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}`)).json;
  const settled = (id: string) =>
    eventually('the callback is settled', async () => {
      const run = await read(id);
      return run.callback.status !== 'pending' && run;
    });
  async function submitted(fields: object, rehearsal: object = {}): Promise<string> {
    const metadata = { rehearsal: { steps: 1, ...rehearsal } };
    return (await world.submit({ metadata, ...fields })).json.execution_id;
  }
  async function failed(): Promise<string> {
    receiver.answering(500);
    const id = await submitted({ callback_url: receiver.url });
    await failCallback(world.database, id);
    return id;
  }
  /** Responds with 503 once the returned function is called. */
  function holding(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void promise.then(() => response.writeHead(503).end());
      return undefined;
    });
    return resolve;
  }
  const briefly = (attempts: Attempt[]) =>
    attempts.map(({ attempt, trigger, response_status: status }) => [attempt, trigger, status]);

  it('makes one more attempt, during which the callback is pending', async () => {
    const id = await failed();
    const respond = holding();
    const { status, json } = await retry(id);
    assert.deepEqual([status, json.execution_id, json.callback.status], [202, id, 'pending']);
    const { json: list } = await world.send('GET', '/api/v1/tasks');
    const listed = list.data.find((run: { execution_id: string }) => run.execution_id === id);
    assert.equal(listed.callback.status, 'pending');
    await receiver.receives(2);
    assertProblem(await retry(id), 409, 'invalid_state');
    assertProblem(await world.send('DELETE', `/api/v1/tasks/${id}`), 409, 'invalid_state');
    respond();
    assert.equal((await settled(id)).callback.status, 'failed');
    receiver.answering(204);
    await retry(id);
    assert.equal((await settled(id)).callback.status, 'delivered');
    const expected = [
      [1, 'automatic', 500],
      [2, 'manual', 503],
      [3, 'manual', 204],
    ];
    assert.deepEqual(briefly((await read(id)).callback.attempts), expected);
    const { json: log } = await world.send('GET', `/api/v1/tasks/${id}/callbacks`);
    assert.deepEqual(briefly(log.data), expected);
  });

  it('makes one attempt of requests at the same moment', async () => {
    const id = await failed();
    const received = await Promise.all(Array.from({ length: 5 }, () => retry(id)));
    const accepted = received.filter(({ status }) => status === 202);
    assert.ok(accepted.length >= 1);
    for (const other of received.filter(({ status }) => status !== 202))
      assertProblem(other, 409, 'invalid_state');
    const run = await settled(id);
    const numbers = run.callback.attempts.map(({ attempt }: Attempt) => attempt);
    // A request that comes after a failed attempt may be accepted again.
    assert.deepEqual(
      numbers,
      Array.from({ length: 1 + accepted.length }, (_, index) => index + 1),
    );
    assert.equal(receiver.requests.length, numbers.length);
  });

  it('streams the attempt to a client that follows the run again', async () => {
    const id = await failed();
    const { last_seq: before } = await read(id);
    const respond = holding();
    await retry(id);
    const followed = world.send('GET', `/api/v1/tasks/${id}/events?after=${before}`, {
      headers: { Accept: 'text/event-stream' },
    });
    await receiver.receives(2);
    respond();
    const { text } = await followed;
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
    assert.deepEqual(
      events.map(({ type, data }) => [type, data.attempt, data.trigger, data.response_status]),
      [['callback.attempted', 2, 'manual', 503]],
    );
  });

  it('is refused unless the callback has failed', async () => {
    const refused = async (id: string, why: RegExp) => {
      const received = await retry(id);
      assertProblem(received, 409, 'invalid_state');
      assert.match(received.json.detail, why);
    };
    const without = await submitted({});
    await world.reaches(without, 'completed');
    await refused(without, /has no callback/);
    const running = await submitted({ callback_url: receiver.url }, { step_ms: 60_000 });
    await world.reaches(running, 'executing');
    await refused(running, /is pending/);
    await world.send('POST', `/api/v1/tasks/${running}/cancel`);
    await world.reaches(running, 'cancelled');
    await refused(running, /has no callback/);
    const respond = holding();
    const pending = await submitted({ callback_url: receiver.url });
    await receiver.receives(1);
    await refused(pending, /is pending/);
    respond();
    receiver.answering(204);
    const delivered = await submitted({ callback_url: receiver.url });
    assert.equal((await settled(delivered)).callback.status, 'delivered');
    await refused(delivered, /is delivered/);
    assert.equal((await read(delivered)).callback.attempts.length, 1);
  });

  it('is only for those who may steer the run', async () => {
    const id = await failed();
    assertProblem(await retry(id, { key: null }), 401, 'unauthenticated');
    const reader = await keyWith(world, ['tasks:read']);
    assertProblem(await retry(id, { key: reader }), 403, 'forbidden');
    const viewer = await addPerson(world, await world.signIn(), 'viewer');
    assertProblem(await retry(id, world.as(viewer)), 403, 'forbidden');
    assertProblem(await retry(id, { key: await addWorkspace(world) }), 404, 'not_found');
    assertProblem(await retry('01980000-0000-7000-8000-000000000000'), 404, 'not_found');
    assert.equal((await read(id)).callback.attempts.length, 1);
  });

  it('is limited for each run', async () => {
    const id = await failed();
    const many = Array.from({ length: CALLBACK_RETRIES.burst + 20 }, () => retry(id));
    const refused = (await Promise.all(many)).find(({ status }) => status === 429);
    assert.ok(refused);
    assertProblem(refused, 429, 'rate_limited');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    await settled(id);
  });

  it('is in the audit log of the workspace, if it was accepted', async () => {
    const id = await failed();
    receiver.answering(204);
    await retry(id);
    await settled(id);
    await retry(id);
    const owner = world.as(await world.signIn());
    const { json } = await world.send('GET', '/api/v1/audit-log?action=task.callback_retried', owner);
    const entries = json.data.filter(({ subject }: { subject: string }) => subject === `task:${id}`);
    assert.equal(entries.length, 1);
    assert.match(entries[0].actor, /^key:/);
  });
});
