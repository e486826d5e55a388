import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';
import type { AttemptLimiter } from '../../src/activities/deliveries/attempt-limiter.ts';
import type { AttemptTarget } from '../../src/domain/webhooks/attempt-scheduler.ts';
import { createRequests } from '../../simulation/invariants/requests.ts';
import { watchPlaces } from '../../simulation/invariants/places.ts';
import { createCallbackObserver } from '../../simulation/runs/callback-observer.ts';
import { secretOf } from '../../simulation/runs/callers.ts';
import type { RunTables } from '../../simulation/runs/store/tables.ts';
import { createTables, type DeliveryRow } from '../../simulation/store/tables.ts';
import { createProcess, type Clock } from '../../simulation/world/clock.ts';
import type { Arrival, RequestOutcome } from '../../simulation/world/receivers.ts';

/* Each check of the simulation is given a violation that it must report, and the same without the violation. */

const BY = createProcess('worker');
const BODY = '{"id":"event"}';
const MINUTE_MS = 60_000;

function createReports() {
  const reports: string[] = [];
  return {
    report: (guarantee: string, what = '') => void reports.push(`${guarantee} ${what}`.trim()),
    /** Returns the reports so far, and forgets them. */
    take: () => reports.splice(0),
  };
}

const requestOf = (given: Partial<Arrival> = {}): Arrival => ({
  webhookId: 'hook',
  deliveryId: 'one',
  trigger: 'automatic',
  signature: '',
  body: BODY,
  by: BY,
  at: 0,
  ...given,
});

describe('the check of recorded attempts', () => {
  /** Makes attempts that end like this, and records them as given. Returns the reports. */
  function reportsOf(
    requests: { outcome: RequestOutcome; body?: string }[],
    recorded: { succeeded: boolean }[],
    row: Partial<DeliveryRow> = {},
  ): string[] {
    const { report, take } = createReports();
    const tables = createTables(
      () => new Date(0),
      () => 'id',
    );
    tables.events.set(1, { seq: 1, body: BODY } as never);
    const checks = createRequests({ clock: { now: () => 1_000 } as Clock, tables, report });
    tables.deliveries.set('one', { id: 'one', event_seq: 1, attempts_count: 0, ...row } as DeliveryRow);
    for (const { outcome, body } of requests) {
      const request = requestOf(body === undefined ? {} : { body });
      checks.onSend(request);
      checks.onResponse(request, outcome);
    }
    for (const { succeeded } of recorded) {
      const stored = tables.deliveries.get('one') as DeliveryRow;
      stored.attempts_count += 1;
      const result = { delivery_id: 'one', trigger: 'automatic', succeeded } as AttemptResult;
      tables.attempts.push({ ...result, number: 1 });
      checks.onResults([result], BY);
    }
    checks.onEnd();
    return take();
  }

  it('reports a failure that is recorded as success', () => {
    assert.deepEqual(reportsOf([{ outcome: 'succeeded' }], [{ succeeded: true }]), []);
    assert.deepEqual(reportsOf([{ outcome: 'failed' }], [{ succeeded: true }]), [
      'delivered an attempt of one is recorded as successful, but was not',
    ]);
  });

  it('reports a success that is recorded as failure', () => {
    assert.deepEqual(reportsOf([{ outcome: 'failed' }], [{ succeeded: false }]), []);
    assert.deepEqual(reportsOf([{ outcome: 'succeeded' }], [{ succeeded: false }]), [
      'schedule 1 attempts of one are recorded as failed, but 0 have failed',
    ]);
  });

  it('reports an attempt that was not made, and one that is not recorded', () => {
    const [failure, recorded] = [{ outcome: 'failed' } as const, { succeeded: false }];
    assert.deepEqual(reportsOf([failure], [recorded, recorded]), [
      'log 2 attempts of one are recorded, but 1 were made',
      'schedule 2 attempts of one are recorded as failed, but 1 have failed',
      'duplicates 1 attempts of one were made, 2 recorded, 0 interrupted',
    ]);
    assert.deepEqual(reportsOf([failure, failure], [recorded]), [
      'duplicates 2 attempts of one were made, 1 recorded, 0 interrupted',
    ]);
    assert.deepEqual(reportsOf([failure, { outcome: 'aborted' }], [recorded]), []);
  });

  it('reports a body that is not that of the event, and two bodies of one delivery', () => {
    const [other] = [{ outcome: 'failed', body: 'other' } as const];
    assert.deepEqual(reportsOf([other], [{ succeeded: false }]), [
      'delivered the body of one is not that of its event',
    ]);
    assert.ok(
      reportsOf([{ outcome: 'failed' }, other], [{ succeeded: false }, { succeeded: false }]).includes(
        'duplicates one was sent with two bodies',
      ),
    );
  });

  it('reports a retry at another time than 1, 5, 30, 120 and 720 minutes after the failure', () => {
    const afterFailure = (failures: number, minutes: number) =>
      reportsOf([{ outcome: 'failed' }], [{ succeeded: false }], {
        status: 'retrying',
        failures,
        next_attempt_at: new Date(1_000 + minutes * MINUTE_MS),
      });
    for (const [index, minutes] of [1, 5, 30, 120, 720].entries()) {
      assert.deepEqual(afterFailure(index + 1, minutes), []);
      assert.equal(afterFailure(index + 1, minutes - 0.1).length, 1);
      assert.equal(afterFailure(index + 1, minutes * 3).length, 1);
    }
    assert.equal(afterFailure(6, 720).length, 1);
  });
});

describe('the check of turns', () => {
  /** Gives places in this order to attempts that all wait from the start, without ending any. Returns the reports. */
  async function reportsOf(waiting: AttemptTarget[], order: number[]): Promise<string[]> {
    const { report, take } = createReports();
    let moment = 1;
    const checks: (() => void)[] = [];
    const given: (() => void)[] = [];
    const limiter = {
      acquire: async () => {
        await new Promise<void>((resolve) => given.push(resolve));
        return { waitedMs: 0, release() {} };
      },
    } as unknown as AttemptLimiter;
    const moments = { moment: () => moment, settled: (check: () => void) => void checks.push(check) };
    const watched = watchPlaces(limiter, moments, report);
    const all = waiting.map((target) => watched.acquire(target, 0));
    for (const index of order) {
      moment += 1;
      given[index]?.();
      await all[index];
      for (const check of checks.splice(0)) check();
    }
    return take();
  }
  const targetOf = (workspaceId: string, webhookId: string): AttemptTarget => ({ workspaceId, webhookId });

  it('reports two places in a row for a webhook while another one of the workspace waits', async () => {
    const waiting = [targetOf('w', 'a'), targetOf('w', 'a'), targetOf('w', 'b')];
    assert.deepEqual(await reportsOf(waiting, [0, 2, 1]), []);
    assert.deepEqual(await reportsOf(waiting, [0, 1]), [
      'a got two places while b, with nothing running, waited',
    ]);
  });

  it('reports two places in a row for a workspace while another one waits', async () => {
    const waiting = [targetOf('v', 'a'), targetOf('v', 'b'), targetOf('w', 'c')];
    assert.deepEqual(await reportsOf(waiting, [0, 2, 1]), []);
    assert.deepEqual(await reportsOf(waiting, [0, 1]), [
      'v got two places while w, with nothing running, waited',
    ]);
  });
});

describe('the check of callbacks', () => {
  /** Sends a callback of a completed run. Returns the reports. */
  function reportsOf(body: string, signature: string): string[] {
    const { report, take } = createReports();
    const run = { id: 'run', state: 'completed', completed_at: new Date(0), callback_retry_id: null };
    const tables = { runs: new Map([['run', run]]), attempts: new Map() } as unknown as RunTables;
    const observer = createCallbackObserver({
      clock: { now: () => 0 } as Clock,
      tables,
      isCalm: true,
      slackMs: 0,
      wasChangedInTemporal: () => false,
      report,
    });
    observer.onSend(requestOf({ deliveryId: 'run', body, signature }));
    return take();
  }
  const signed = (body: string, secret = secretOf('run')) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

  it('reports a signature with another secret or of another body', () => {
    const body = '{"status":"completed"}';
    assert.deepEqual(reportsOf(body, signed(body)), []);
    for (const signature of [signed(body, 'other'), signed('other')])
      assert.deepEqual(reportsOf(body, signature), ['bytes the signature of run is not that of its body']);
  });

  it('reports another state than that of the run', () => {
    const body = '{"status":"failed"}';
    assert.deepEqual(reportsOf(body, signed(body)), [
      'callback the callback of run, which is completed, says failed',
    ]);
  });
});
