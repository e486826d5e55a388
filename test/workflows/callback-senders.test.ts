import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { sql } from 'kysely';
import { createCallbackAttempt } from '../../src/activities/callback-attempt.ts';
import { createCallbacksAtOnce } from '../../src/activities/callbacks-at-once.ts';
import { createCallbackActivities } from '../../src/activities/send-callback.ts';
import { callbackAttempts, pendingCallback } from '../../src/database/callbacks.ts';
import { statements, type Database } from '../../src/database/connect.ts';
import { findRun } from '../../src/database/task-runs.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createSender, type Sender } from '../../src/outbound/attempt.ts';
import { UNTRACED } from '../../src/outbound/traces.ts';
import { readConfiguration } from '../../src/configuration.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { freshInstallation, type FreshInstallation } from '../support/installation.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { settingsOn } from '../support/settings.ts';

/** One process ends the run, another one has the activity of the callbacks' queue; a real database and receiver. */
describe('the two that send a callback', function () {
  let fresh: FreshInstallation;
  let database: Database;
  let receiver: Receiver;
  let sender: Sender;
  let id: string;
  before(async () => {
    fresh = await freshInstallation();
    ({ database } = fresh);
    const { outboundAllow } = readConfiguration(settingsOn(fresh.url));
    sender = createSender({ guard: createAddressGuard(outboundAllow) });
  });
  after(async () => {
    await sender.close();
    await fresh.close();
  });
  beforeEach(async () => {
    receiver = await startReceiver();
    id = await storeEndedRun(fresh, receiver.url);
  });
  afterEach(() => receiver.close());

  const attempt = () =>
    createCallbackAttempt({
      database,
      sender,
      openSecret: () => 'opened',
      newId: randomUUIDv7,
      clock: () => new Date(),
      traces: UNTRACED,
    });
  const whoEndsTheRun = () => createCallbacksAtOnce({ database, attempt: attempt() });

  /** The activity, called again after the waits that it asks for, as Temporal does. */
  async function sendFromTheQueue(): Promise<void> {
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
    (await callbackAttempts(database, id)).map(({ attempt: number, response_status, failure }) => [
      number,
      response_status,
      failure,
    ]);

  /** Holds the run's row until told otherwise, so that whoever writes to it waits. */
  async function holdTheRow(): Promise<() => Promise<void>> {
    const holder = database.em.fork();
    await holder.begin();
    await holder.execute('select from task_runs where id = ? for update', [id]);
    return () => holder.commit();
  }

  it('take back an attempt that took long to begin: others may take it for over', async () => {
    const letGo = await holdTheRow();
    const atOnce = whoEndsTheRun();
    assert.equal(await atOnce.callBack(id), false);
    await wait(1_800);
    await letGo();
    await atOnce.close();
    assert.deepEqual([await log(), receiver.requests.length], [[], 0]);
    await sendFromTheQueue();
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('note a success in spite of a database that is away when the answer comes, and send once', async () => {
    let letGo: (() => Promise<void>) | undefined;
    receiver.answering((_request, response) => {
      void holdTheRow().then((release) => {
        letGo = release;
        response.writeHead(204).end();
      });
      return undefined;
    });
    const atOnce = whoEndsTheRun();
    assert.equal(await atOnce.callBack(id), false);
    await eventually('the connection that notes the end is ended', async () => {
      const { rows } = await sql<{ ended: boolean }>`
        select pg_terminate_backend(pid) as ended from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and query like '%update workflow_webhook_deliveries%'
      `.execute(statements(database));
      return rows.length > 0;
    });
    await letGo?.();
    await atOnce.close();
    assert.equal((await findRun(database, id))?.callback_status, 'delivered');
    await sendFromTheQueue();
    assert.deepEqual([await log(), receiver.requests.length], [[[1, 204, null]], 1]);
  });

  it('keep the second between failure and next attempt, whenever the activity looks', async () => {
    let answeredAt = 0;
    receiver.answering((_request, response) => {
      if (receiver.requests.length > 1) return 204;
      setTimeout(() => {
        answeredAt = performance.now();
        response.writeHead(500).end();
      }, 560);
      return undefined;
    });
    const atOnce = whoEndsTheRun();
    assert.equal(await atOnce.callBack(id), false);
    const sending = sendFromTheQueue();
    await receiver.receives(2);
    const gapMs = performance.now() - answeredAt;
    await sending;
    assert.ok(gapMs >= 1_000, `${gapMs} ms`);
  });

  it('begin nothing where the process is to end already', async () => {
    const ending = AbortSignal.abort(new Error('the process ends'));
    const pending = await pendingCallback(database, id);
    assert.ok(pending);
    await assert.rejects(attempt()(pending, ending), /the process ends/);
    assert.deepEqual([await log(), receiver.requests.length], [[], 0]);
  });
});
