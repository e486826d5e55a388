import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { sql } from 'kysely';
import { pino } from 'pino';
import { createCallbackAttempt } from '../../src/activities/callback-attempt.ts';
import { CALLBACK_RESPONSE_BYTES, CALLBACK_TIMEOUT_MS } from '../../src/domain/common/limits.ts';
import { CALLBACK_ATTEMPT_EXPIRY_MS } from '../../src/domain/tasks/callback-schedule.ts';
import { createImmediateCallbacks } from '../../src/activities/immediate-callbacks.ts';
import { createCallbackActivities } from '../../src/activities/send-callback.ts';
import {
  beginAttempt,
  giveUpCallback,
  listCallbackAttempts,
  findPendingCallback,
  requestCallbackRetry,
} from '../../src/database/tasks/callbacks.ts';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createOutboundClient, type OutboundClient } from '../../src/outbound/attempt.ts';
import type { AttemptRecord, AttemptRequest } from '../../src/outbound/attempt-record.ts';
import { signature } from '../../src/outbound/sign.ts';
import { UNTRACED } from '../../src/outbound/traces.ts';
import { openCallbacks } from '../../src/runtime/callbacks.ts';
import { readConfiguration } from '../../src/runtime/configuration.ts';
import { openObservation } from '../../src/runtime/observation.ts';
import { NO_TELEMETRY } from '../../src/runtime/telemetry.ts';
import { feedOf } from '../gateway/quiet-runs.ts';
import { post } from '../outbound/sending.ts';
import { breakingAfter } from '../support/breaking.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { freshInstallation, type FreshInstallation } from '../support/installation.ts';
import { eventually } from '../support/eventually.ts';
import { sharedSealing } from '../support/run-row.ts';
import { settingsOn } from '../support/settings.ts';

const silent = pino({ level: 'silent' });
/** A timer can fire a little early by the clock. */
const TIMER_MS = 5;
/** Longer than any test. */
const LONG_MS = 60_000;

/** One process ends the run, another one runs the queued activity, on a real database and receiver. */
describe('a callback sender', function () {
  let fresh: FreshInstallation;
  let database: Database;
  const receiver = useReceiver('each test');
  let sender: OutboundClient;
  let id: string;
  before(async () => {
    fresh = await freshInstallation();
    ({ database } = fresh);
    const { outboundAllow } = readConfiguration(settingsOn(fresh.url));
    sender = createOutboundClient({ guard: createAddressGuard(outboundAllow) });
  });
  after(async () => {
    await sender.close();
    await fresh.close();
  });
  beforeEach(async () => {
    id = await storeEndedRun(fresh, receiver.url);
  });

  const attempt = (by: OutboundClient = sender, on: Database = database, maxStartMs?: number) =>
    createCallbackAttempt({
      database: on,
      sender: by,
      openSecret: () => 'opened',
      newId: randomUUIDv7,
      clock: () => new Date(),
      traces: UNTRACED,
      ...(maxStartMs === undefined ? {} : { maxStartMs }),
    });
  const inlineSender = (times: { briefMs?: number; graceMs?: number } = {}) =>
    createImmediateCallbacks({ database, attempt: attempt(), ...times });
  /** An inline sender that waits for the receiver for as long as a slow machine needs. */
  const patientSender = () =>
    createImmediateCallbacks({
      database,
      attempt: attempt(sender, database, LONG_MS),
      briefMs: LONG_MS,
    });

  /** Runs the activity, and again after each wait that it requests, as Temporal does. */
  async function sendFromQueue(): Promise<void> {
    const { sendCallback } = createCallbackActivities({ database, attempt: attempt() });
    for (;;) {
      try {
        const environment = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
        await environment.run(sendCallback, { executionId: id });
        return;
      } catch (error) {
        assert.ok(error instanceof ApplicationFailure && !error.nonRetryable, String(error));
        await wait(Number(error.nextRetryDelay));
      }
    }
  }

  const log = async () =>
    (await listCallbackAttempts(database, id)).map(({ attempt: number, response_status, failure }) => [
      number,
      response_status,
      failure,
    ]);

  /** Locks the row of the run, so that other writers wait. Returns the function that unlocks it. */
  async function lockRow(): Promise<() => Promise<void>> {
    const holder = database.em.fork();
    await holder.begin();
    await holder.execute('select from task_runs where id = ? for update', [id]);
    return () => holder.commit();
  }

  it('drops an attempt that could not start in time, which other processes may regard as failed', async () => {
    const unlock = await lockRow();
    const inline = inlineSender();
    assert.equal(await inline.attemptNow(id), false);
    await wait(1_600);
    await unlock();
    await inline.close();
    assert.deepEqual([await log(), receiver.requests.length], [[], 0]);
    await sendFromQueue();
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('leaves a callback to the queue while an attempt of another process may be in flight', async () => {
    const pending = await findPendingCallback(database, id);
    assert.ok(pending);
    const other = Promise.withResolvers<never>();
    const stuck = { ...sender, attempt: () => other.promise };
    const first = attempt(stuck)(pending, new AbortController().signal);
    first.catch(() => {});
    await eventually('the other process has begun', async () => (await log()).length === 1);
    assert.equal(await inlineSender().attemptNow(id), false);
    assert.deepEqual([await log(), receiver.requests.length], [[[1, null, null]], 0]);
    other.reject(new Error('it died'));
  });

  it('records a success although its database connection broke, and sends once', async () => {
    let unlock: (() => Promise<void>) | undefined;
    receiver.answering((_request, response) => {
      void lockRow().then((release) => {
        unlock = release;
        response.writeHead(204).end();
      });
      return undefined;
    });
    const inline = inlineSender();
    assert.equal(await inline.attemptNow(id), false);
    await eventually('the connection that records the result is terminated', async () => {
      const { rows } = await sql<{ ended: boolean }>`
        select pg_terminate_backend(pid) as ended from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and query like '%update workflow_webhook_deliveries%'
      `.execute(queryBuilderOf(database));
      return rows.length > 0;
    });
    await unlock?.();
    await inline.close();
    assert.equal((await findRun(database, id))?.callback_status, 'delivered');
    await sendFromQueue();
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('records that a request was sent again because the kept connection was closed', async () => {
    await post(sender, receiver.url);
    receiver.answering(({ connection }, response) => {
      if (connection !== 1) return 204;
      response.socket?.destroy();
      return undefined;
    });
    await sendFromQueue();
    assert.deepEqual(await log(), [[1, 204, null]]);
    const [row] = await listCallbackAttempts(database, id);
    assert.equal(row?.reconnected, true);
    assert.equal(receiver.requests.length, 3);
  });

  it('keeps one second between a failure and the next attempt', async () => {
    const givenUp = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      if (receiver.requests.length > 1) return 204;
      void givenUp.promise.then(() => response.writeHead(500).end());
      return undefined;
    });
    const inline = inlineSender();
    assert.equal(await inline.attemptNow(id), false);
    const sending = sendFromQueue();
    givenUp.resolve();
    await sending;
    const [first, second] = await listCallbackAttempts(database, id);
    assert.ok(first?.completed_at && first.next_attempt_at && second);
    assert.equal(first.next_attempt_at.getTime() - first.completed_at.getTime(), 1_000);
    assert.ok(second.attempted_at.getTime() >= first.next_attempt_at.getTime() - TIMER_MS);
    assert.equal(receiver.requests.length, 2);
  });

  it('completes the callback inline if the receiver responds in time', async () => {
    const inline = patientSender();
    assert.equal(await inline.attemptNow(id), true);
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
    await inline.close();
  });

  it('aborts the attempt of a stopping process, and the next sender retries it', async () => {
    receiver.hanging();
    const inline = inlineSender({ graceMs: 0 });
    const attempting = inline.attemptNow(id);
    await receiver.receives(1);
    await inline.close();
    assert.equal(await attempting, false);
    receiver.answering(204);
    await sendFromQueue();
    assert.deepEqual(await log(), [
      [1, null, 'aborted'],
      [2, 204, null],
    ]);
  });

  it('passes callbacks to the queue while hanging receivers occupy the inline attempts', async () => {
    receiver.hanging();
    const inline = inlineSender({ graceMs: 0 });
    const many = await Promise.all(Array.from({ length: 20 }, () => storeEndedRun(fresh, receiver.url)));
    const hanging = many.map((runId) => inline.attemptNow(runId));
    await receiver.receives(20);
    assert.equal(await inline.attemptNow(id), false);
    assert.deepEqual(await log(), [], 'the first attempt is left to the queue');
    await inline.close();
    assert.deepEqual(new Set(await Promise.all(hanging)), new Set([false]));
  });

  it('lets the attempt of a process that stops end, and records it', async () => {
    const closing = new AsyncDisposableStack();
    const configuration = readConfiguration(settingsOn(fresh.url));
    const observation = await openObservation(configuration, NO_TELEMETRY);
    const foundation = { configuration, database, observation, telemetry: NO_TELEMETRY, log: silent };
    const { callBack } = openCallbacks(closing, foundation, sharedSealing);
    const stopping = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void stopping.promise.then(() => response.writeHead(204).end());
      return undefined;
    });
    assert.equal(await callBack(id), false);
    const stopped = closing.disposeAsync();
    stopping.resolve();
    await stopped;
    assert.deepEqual(await log(), [[1, 204, null]]);
  });

  it('makes further inline attempts after many that have ended', async () => {
    const inline = patientSender();
    for (let n = 0; n < 21; n += 1)
      assert.equal(await inline.attemptNow(await storeEndedRun(fresh, receiver.url)), true);
    await inline.close();
  });

  it('limits a whole attempt to 10 s', async () => {
    const limits: (number | undefined)[] = [];
    const watched: OutboundClient = {
      ...sender,
      attempt: async (request) => {
        limits.push(request.timeoutMs);
        return await sender.attempt({ ...request, timeoutMs: 200 });
      },
    };
    receiver.dripping();
    const pending = await findPendingCallback(database, id);
    assert.ok(pending);
    await assert.rejects(attempt(watched)(pending, new AbortController().signal));
    assert.deepEqual([limits, await log()], [[10_000], [[1, 200, 'timeout']]]);
  });

  it('sends no fourth attempt if the result of the third is missing', async () => {
    const begun = {
      execution_id: id,
      url: receiver.url,
      request_headers: {},
      request_body: '{}',
      retryId: null,
    };
    for (const earlier of [0, 1, 2]) {
      const attempted_at = new Date();
      assert.equal(
        await beginAttempt(database, { ...begun, id: randomUUIDv7(), attempted_at }, earlier),
        earlier + 1,
      );
    }
    const pending = await findPendingCallback(database, id);
    assert.equal(pending?.attempts, 3);
    await assert.rejects(attempt()(pending, new AbortController().signal), { nonRetryable: true });
    assert.deepEqual([(await log()).length, receiver.requests.length], [3, 0]);
  });

  it('do not send a manual attempt again after one whose result is missing', async () => {
    await giveUpCallback(database, id, new Date());
    const retryId = randomUUIDv7();
    const { workspace_id: workspaceId } = fresh.installation;
    const now = new Date();
    const retry = { executionId: id, retryId, workspaceId, actor: 'key:test', now };
    assert.ok(await requestCallbackRetry(database, retry));
    const attempted_at = new Date(now.getTime() - CALLBACK_ATTEMPT_EXPIRY_MS - 1);
    const begun = { id: randomUUIDv7(), execution_id: id, url: receiver.url, retryId };
    await beginAttempt(database, { ...begun, request_headers: {}, request_body: '{}', attempted_at }, 0);
    const { retryCallback } = createCallbackActivities({ database, attempt: attempt() });
    const environment = new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
    await assert.rejects(environment.run(retryCallback, { executionId: id, retryId }), {
      nonRetryable: true,
    });
    assert.deepEqual([await log(), receiver.requests.length], [[[1, null, null]], 0]);
  });

  it('sends and counts an attempt once if the connection breaks after its start is stored', async () => {
    const pending = await findPendingCallback(database, id);
    assert.ok(pending);
    const breaking = breakingAfter(database, 'insert into workflow_webhook_deliveries', 'ECONNRESET');
    await attempt(sender, breaking)(pending, new AbortController().signal);
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('records a result again after a deadlock', async () => {
    const pending = await findPendingCallback(database, id);
    assert.ok(pending);
    const breaking = breakingAfter(
      database,
      'update workflow_webhook_deliveries\n      set response',
      '40P01',
    );
    await attempt(sender, breaking)(pending, new AbortController().signal);
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('starts no attempt if its process is stopping', async () => {
    const ending = AbortSignal.abort(new Error('the process ends'));
    const pending = await findPendingCallback(database, id);
    assert.ok(pending);
    await assert.rejects(attempt()(pending, ending), /the process ends/);
    assert.deepEqual([await log(), receiver.requests.length], [[], 0]);
  });

  it('sends the stored result signed, and records each attempt with its response and the next one', async () => {
    const body = '{"a": "result"}';
    const completedAt = new Date('2026-01-31T12:00:00.123Z');
    await database.em
      .fork()
      .execute('update task_runs set callback_body = ?, completed_at = ? where id = ?', [
        body,
        completedAt,
        id,
      ]);
    const times = [1, 2, 3, 4].map((n) => new Date(completedAt.getTime() + n * 60_000));
    const [begun, ended] = times;
    const made = { ...(await post(sender, receiver.url)), duration_ms: 17, address: '203.0.113.9' };
    const response = {
      status: 503,
      headers: { 'x-a': 'b' },
      body: Buffer.from('busy\u0000'),
      truncated: false,
    };
    const failed = {
      ...made,
      outcome: 'failed',
      failure: 'status',
      message: 'The response has status 503',
    } as const;
    const records = [{ ...failed, response }, made] as AttemptRecord[];
    const sent: AttemptRequest[] = [];
    const seen: unknown[] = [];
    const attemptNext = createCallbackAttempt({
      database,
      sender: {
        ...sender,
        attempt: async (request) => {
          sent.push(request);
          return records.shift() ?? assert.fail('too many attempts');
        },
      },
      openSecret: (sealed, executionId) => `${sealed.slice(0, 2)} ${executionId}`,
      newId: randomUUIDv7,
      clock: () => times.shift() ?? assert.fail('no time is left'),
      traces: UNTRACED,
      onAttempt: ({ outcome }, executionId) => void seen.push([outcome, executionId]),
    });
    const next = async () => {
      const pending = await findPendingCallback(database, id);
      assert.ok(pending);
      return await attemptNext(pending, new AbortController().signal);
    };
    await assert.rejects(next(), {
      type: 'CallbackFailed',
      message: 'The response has status 503',
      nextRetryDelay: 1_000,
      nonRetryable: false,
    });
    assert.deepEqual(await next(), { status: 204 });
    const headers = {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'Baton',
      'content-type': 'application/json',
      'x-service-signature': signature(`v1 ${id}`, Buffer.from(body)),
      'x-service-event': 'task.completed',
      'x-service-delivery': id,
      'x-service-timestamp': completedAt.toISOString(),
    };
    for (const request of sent) {
      assert.deepEqual([request.url, request.headers, String(request.body)], [receiver.url, headers, body]);
      assert.deepEqual(
        [request.timeoutMs, request.maxResponseBytes],
        [CALLBACK_TIMEOUT_MS, CALLBACK_RESPONSE_BYTES],
      );
    }
    assert.deepEqual(seen, [
      ['failed', id],
      ['succeeded', id],
    ]);
    const due = new Date((ended?.getTime() ?? 0) + 1_000);
    const [first, second] = await listCallbackAttempts(database, id);
    assert.deepEqual(JSON.parse(JSON.stringify(first)), {
      id: first?.id,
      execution_id: id,
      attempt: 1,
      trigger: 'automatic',
      url: receiver.url,
      request_headers: headers,
      request_body: body,
      attempted_at: begun?.toISOString(),
      response_status: 503,
      response_headers: { 'x-a': 'b' },
      response_body: 'busy\uFFFD',
      failure: 'status',
      message: 'The response has status 503',
      address: '203.0.113.9',
      duration_ms: 17,
      completed_at: ended?.toISOString(),
      next_attempt_at: due.toISOString(),
      reconnected: false,
    });
    assert.deepEqual([second?.attempt, second?.response_status, second?.next_attempt_at], [2, 204, null]);
    const events = (await feedOf(database, id)).map(({ type, at, data }) => [type, at, data]);
    const common = { trigger: 'automatic', duration_ms: 17 };
    assert.deepEqual(events, [
      [
        'callback.attempted',
        ended?.toISOString(),
        {
          ...common,
          attempt: 1,
          outcome: 'failed',
          response_status: 503,
          failure: 'status',
          message: 'The response has status 503',
          next_attempt_at: due.toISOString(),
        },
      ],
      [
        'callback.attempted',
        second?.completed_at?.toISOString(),
        {
          ...common,
          attempt: 2,
          outcome: 'succeeded',
          response_status: 204,
          failure: null,
          message: null,
          next_attempt_at: null,
        },
      ],
    ]);
  });
});
