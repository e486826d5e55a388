import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { withClient } from '../../dev/services/postgres.ts';
import { eventually } from '../support/eventually.ts';
import type { Answered, Service } from '../support/service.ts';
import { printMetrics, seconds } from './metrics.ts';
import { SHORT } from './mixed-tasks.ts';
import { assertAllDelivered, submitOne, untilSettled } from './service-runs.ts';
import { useService } from './shared-service.ts';

const AT_ONCE = 10;

describe('a service', function () {
  this.timeout(240_000);
  const { service, receiver } = useService();

  it('without Temporal accepts submissions, and starts each once after the outage', async () => {
    const running = await begin();
    await service.temporal.kill();
    const key = randomUUID();
    const answers = await Promise.all([
      submit({ 'Idempotency-Key': key }),
      ...Array.from({ length: AT_ONCE - 1 }, () => submit()),
    ]);
    const accepted = answers.map(({ status, json, text }) => {
      assert.equal(status, 201, text);
      return { id: json.execution_id, secret: json.callback_secret, script: SHORT };
    });
    const again = await submit({ 'Idempotency-Key': key });
    assert.equal(again.json.execution_id, accepted[0]?.id);
    const { status, json } = await reports('temporal');
    assert.equal(status, 200, 'the service still accepts work');
    assert.match(json.checks.temporal.reason, /^Temporal /);
    assert.equal(json.waiting.tasks.count, AT_ONCE);
    const backAt = Date.now();
    await service.temporal.start();
    await untilSettled(service, [running, ...accepted]);
    await assertAllDelivered(service, receiver, [running, ...accepted]);
    printMetrics({ 'all ended after the restart': seconds(Date.now() - backAt) });
  });

  it('without PostgreSQL rejects submissions without storing them, and recovers by itself', async () => {
    await refusesWithoutPostgres();
  });

  /** Starts a run that is in progress for a few seconds. Its workflow has begun. */
  async function begin() {
    const rehearsal = { ...SHORT.rehearsal, step_ms: 4_000 };
    const running = await submitOne(service, receiver, { ...SHORT, rehearsal });
    await eventually('it is started', async () => {
      const { json } = await service.send('GET', `/api/v1/tasks/${running.id}`);
      return json.state !== 'initializing';
    });
    await isReady(service);
    return running;
  }

  async function refusesWithoutPostgres(): Promise<void> {
    const running = await begin();
    const before = await storedRuns();
    await service.postgres.kill();

    const retryKey = randomUUID();
    const began = Date.now();
    const refused = await Promise.all([
      submit({ 'Idempotency-Key': retryKey }),
      ...Array.from({ length: AT_ONCE - 1 }, () => submit()),
    ]);
    const tookMs = Date.now() - began;
    for (const answered of refused) assertUnavailable(answered);
    await assertNotReady();
    assert.equal((await service.send('GET', '/health/live')).status, 200);

    const backAt = Date.now();
    await service.postgres.start();
    await isReady(service);
    const readyAt = Date.now();
    assert.deepEqual(await storedRuns(), before, 'no rejected submission is stored');
    const again = await eventually('the repeated submission is accepted', async () => {
      const answered = await submit({ 'Idempotency-Key': retryKey });
      return answered.status === 201 && answered;
    });
    const later = { id: again.json.execution_id, secret: again.json.callback_secret, script: SHORT };
    await untilSettled(service, [running, later]);
    await assertAllDelivered(service, receiver, [running, later]);
    assert.deepEqual(
      await storedRuns(),
      [...before, later.id].toSorted(),
      'no rejected submission is stored later',
    );
    printMetrics({
      'refused after': seconds(tookMs),
      'ready again after the restart': seconds(readyAt - backAt),
    });
  }

  const submit = (headers: Record<string, string> = {}) =>
    service.submit({ callback_url: receiver.url, metadata: { rehearsal: SHORT.rehearsal } }, headers);

  /** Returns the ids of all runs in the table. */
  async function storedRuns(): Promise<string[]> {
    const { rows } = await withClient(service.databaseUrl, (client) =>
      client.query<{ id: string }>('select id from task_runs'),
    );
    return rows.map(({ id }) => id).toSorted();
  }

  /** Waits until the readiness reports only this failure, and returns it. Its answer may be a second old. */
  function reports(failing: 'postgres' | 'temporal'): Promise<Answered> {
    const other = failing === 'postgres' ? 'temporal' : 'postgres';
    return eventually(`${failing} alone is reported as failing`, async () => {
      const answered = await service.send('GET', '/health/ready');
      const { checks } = answered.json;
      return checks[failing].status === 'failing' && checks[other].status === 'ok' && answered;
    });
  }

  async function assertNotReady(): Promise<void> {
    const { status, json } = await reports('postgres');
    assert.equal(status, 503);
    assert.equal(json.status, 'not_ready');
    assert.match(json.checks.postgres.reason, /^PostgreSQL /);
    assert.deepEqual(json.checks.temporal, { status: 'ok', reason: null });
  }
});

function isReady(service: Service): Promise<true> {
  return eventually(
    'the service is ready',
    async () => (await service.send('GET', '/health/ready')).status === 200,
  );
}

function assertUnavailable({ status, json, headers, text }: Answered): void {
  assert.equal(status, 503, text);
  assert.equal(json.code, 'unavailable');
  assert.match(headers.get('content-type') ?? '', /^application\/problem\+json/);
  assert.ok(Number(headers.get('retry-after')) > 0, 'the response has Retry-After');
}
