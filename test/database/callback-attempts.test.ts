import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import {
  beginAttempt,
  requestCallbackRetry,
  listBriefCallbackAttempts,
  listCallbackAttempts,
  endAttempt,
  giveUpCallback,
  findPendingCallback,
  withdrawAttempt,
} from '../../src/database/tasks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import { listEventsAfter } from '../../src/database/tasks/feed.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { useInstallation } from '../support/installation.ts';
import { whileLocked } from '../support/locked.ts';

const URL = 'https://receiver.example.com/';

/** Two processes can send the same callback: one that was frozen for a while, and one that took over. */
describe('the log of a callback', () => {
  const fresh = useInstallation();
  let database: Database;
  let id: string;
  before(() => ({ database } = fresh));
  beforeEach(async () => {
    id = await storeEndedRun(fresh, URL);
  });

  const begin = async (earlier: number, retryId: string | null = null) => {
    const attempt = { id: randomUUIDv7(), execution_id: id, url: URL, attempted_at: new Date() };
    const number = await beginAttempt(
      database,
      { ...attempt, retryId, request_headers: {}, request_body: '{}' },
      earlier,
    );
    return { id: attempt.id, number };
  };
  const end = async (attempt: string, status: number) => {
    const ended = {
      response_status: status,
      response_headers: {},
      response_body: '',
      failure: null,
      message: null,
      address: '192.0.2.1',
      duration_ms: 3,
      completed_at: new Date(),
      next_attempt_at: null,
      reconnected: false,
    };
    const at = new Date().toISOString();
    const entry = { key: `callback.attempted:${attempt}`, type: 'callback.attempted' as const, at, data: {} };
    await endAttempt(
      database,
      { id: attempt, executionId: id, ended, entry },
      status < 300 ? 'delivered' : null,
    );
  };
  const log = async () =>
    (await listCallbackAttempts(database, id)).map(({ attempt, response_status, failure }) => [
      attempt,
      response_status,
      failure,
    ]);

  it('lists the newest 100 attempts, in the detail of the run without their bodies', async () => {
    await database.em.fork().execute(
      `insert into workflow_webhook_deliveries
         (id, execution_id, attempt, url, request_headers, request_body, attempted_at, trigger, reconnected)
       select gen_random_uuid(), ?, n, ?, '{}', '{"a":1}', now(), 'manual', false from generate_series(1, 103) n`,
      [id, URL],
    );
    const attempts = await listCallbackAttempts(database, id);
    assert.deepEqual([attempts.length, attempts[0]?.attempt, attempts.at(-1)?.attempt], [100, 4, 103]);
    assert.equal(attempts[0]?.request_body, '{"a":1}');
    const brief = await listBriefCallbackAttempts(database, id);
    assert.deepEqual(
      brief.map(({ attempt }) => attempt),
      attempts.map(({ attempt }) => attempt),
    );
    assert.ok(brief.every((one) => !('request_body' in one) || one.request_body === undefined));
  });

  it('has one attempt if two processes start the same one simultaneously', async () => {
    const both = await Promise.all([begin(0), begin(0)]);
    assert.deepEqual(both.map(({ number }) => number).toSorted(), [1, null]);
    assert.deepEqual(await log(), [[1, null, null]]);
  });

  it('has no further attempt by a process with an outdated number of attempts', async () => {
    const { id: attempt } = await begin(0);
    assert.equal((await begin(0)).number, null);
    await end(attempt, 204);
    assert.equal((await begin(0)).number, null);
    assert.equal((await begin(1)).number, null, 'a delivered callback is not sent again');
    assert.deepEqual(await log(), [[1, 204, null]]);
    assert.equal(await findPendingCallback(database, id), null);
  });

  it('closes an attempt without a recorded end when the next one starts', async () => {
    const { id: first } = await begin(0);
    const pending = await findPendingCallback(database, id);
    assert.equal(pending?.attempts, 1);
    assert.equal(pending.last?.endedAt, null);
    assert.equal((await begin(1)).number, 2);
    await end(first, 204);
    assert.deepEqual(await log(), [
      [1, null, 'interrupted'],
      [2, null, null],
    ]);
    assert.equal(
      (await findPendingCallback(database, id))?.attempts,
      2,
      'a late response does not complete the callback',
    );
  });

  it('serializes the end of an attempt and the simultaneous start of the next one', async () => {
    for (let n = 0; n < 40; n += 1) {
      id = await storeEndedRun(fresh, URL);
      const { id: first } = await begin(0);
      const [second] = await Promise.all([begin(1), end(first, 204)]);
      const [outcome] = await log();
      assert.deepEqual(outcome, second.number === null ? [1, 204, null] : [1, null, 'interrupted']);
    }
  });

  it('deletes a withdrawn attempt, unless it is already closed', async () => {
    const { id: first } = await begin(0);
    await withdrawAttempt(database, { id: first, executionId: id });
    assert.deepEqual(await log(), []);
    const { id: again } = await begin(0);
    assert.equal((await begin(1)).number, 2);
    await withdrawAttempt(database, { id: again, executionId: id });
    assert.deepEqual(await log(), [
      [1, null, 'interrupted'],
      [2, null, null],
    ]);
  });

  it('has no open attempt after the callback is given up', async () => {
    for (const earlier of [0, 1, 2]) await begin(earlier);
    await giveUpCallback(database, id, new Date());
    assert.deepEqual(
      (await log()).map(([, , failure]) => failure),
      ['interrupted', 'interrupted', 'interrupted'],
    );
    assert.equal((await findRun(database, id))?.callback_status, 'failed');
    assert.equal((await begin(3)).number, null);
  });

  describe('while another sender changes it', () => {
    const during = <Result>(statement: string, work: () => Promise<Result>) =>
      whileLocked(
        database,
        [
          ['select from task_runs where id = $1 for update', id],
          [statement, id],
        ],
        work,
      );

    it('does not begin an attempt after one that has just been withdrawn', async () => {
      await begin(0);
      const statement = 'delete from workflow_webhook_deliveries where execution_id = $1';
      assert.equal((await during(statement, () => begin(1))).number, null);
      assert.deepEqual(await log(), []);
    });

    it('closes an attempt that began while the callback was given up', async () => {
      const statement = `
        insert into workflow_webhook_deliveries
          (id, execution_id, attempt, url, request_headers, request_body, attempted_at, "trigger")
        values (gen_random_uuid(), $1, 1, '${URL}', '{}', '{}', now(), 'automatic')`;
      await during(statement, () => giveUpCallback(database, id, new Date()));
      assert.deepEqual(await log(), [[1, null, 'interrupted']]);
      const events = await listEventsAfter(database, id, 0, 10);
      assert.deepEqual(
        events.map(({ data }) => data['attempt']),
        [1],
      );
    });
  });

  describe('with a manual retry', () => {
    const request = async () => {
      const { workspace_id: workspaceId } = fresh.installation;
      const retryId = randomUUIDv7();
      const retry = { executionId: id, retryId, workspaceId, actor: 'key:test', now: new Date() };
      return (await requestCallbackRetry(database, retry)) ? retryId : null;
    };
    const triggers = async () =>
      (await listCallbackAttempts(database, id)).map(({ attempt, trigger }) => [attempt, trigger]);
    const row = async () => {
      const { callback_status, callback_retry_id } = (await findRun(database, id)) ?? assert.fail();
      return [callback_status, callback_retry_id];
    };

    it('has one attempt more, whether it fails or not, and is then as it was or delivered', async () => {
      const { id: first } = await begin(0);
      await end(first, 500);
      await giveUpCallback(database, id, new Date());
      const failing = await request();
      assert.deepEqual(await row(), ['failed', failing], 'the version before sees a failed callback');
      assert.equal((await begin(1)).number, null, 'no attempt of the schedule follows');
      const second = await begin(1, failing);
      await end(second.id, 500);
      assert.deepEqual(await row(), ['failed', null]);
      assert.equal((await begin(2, failing)).number, null);
      const { id: third } = await begin(2, await request());
      await end(third, 204);
      assert.deepEqual(await row(), ['delivered', null]);
      assert.deepEqual(await triggers(), [
        [1, 'automatic'],
        [2, 'manual'],
        [3, 'manual'],
      ]);
    });

    it('has none while the callback is pending or once it is delivered', async () => {
      assert.equal(await request(), null);
      const { id: first } = await begin(0);
      await end(first, 204);
      assert.equal(await request(), null);
    });

    it('has none if nothing is known that could be sent', async () => {
      await giveUpCallback(database, id, new Date());
      await database.em.fork().execute('update task_runs set callback_body = null where id = ?', [id]);
      assert.equal(await request(), null);
    });

    it('has one of those that are requested at the same moment', async () => {
      await giveUpCallback(database, id, new Date());
      const requested = await Promise.all(Array.from({ length: 5 }, request));
      assert.equal(requested.filter((retryId) => retryId !== null).length, 1);
    });

    it('has a next one after one that was given up, and an event of each', async () => {
      await giveUpCallback(database, id, new Date());
      for (const number of [1, 2]) {
        const retryId = await request();
        assert.equal((await begin(number - 1, retryId)).number, number);
        await giveUpCallback(database, id, new Date(), retryId);
        assert.deepEqual(await row(), ['failed', null]);
      }
      const events = await listEventsAfter(database, id, 0, 10);
      assert.deepEqual(
        events.map(({ data }) => [data['trigger'], data['attempt'], data['failure']]),
        [
          ['automatic', 1, 'interrupted'],
          ['manual', 1, 'interrupted'],
          ['manual', 2, 'interrupted'],
        ],
      );
    });
  });
});
