import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { startMailServer } from '../support/mail-server.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuntime } from '../support/runs.ts';
import { freePort } from '../../dev/common/free-port.ts';
import type * as bundles from '../../src/runtime/bundle.ts';
import { useFleets, type Fleet, type Process } from './fleet.ts';
import { ADDED_STEP_MS, makeNextVersion, type NextVersion } from './next-version.ts';
import { publishToRetry, untilRetryIsMade } from './retried-delivery.ts';

/** A run that takes 12 s. */
const UNDER_WAY = { steps: 4, step_ms: 3_000, progress_events: 2 };

describe('an upgrade', function () {
  this.timeout(900_000);
  let next: NextVersion;
  before(() => (next = makeNextVersion()));
  after(() => next.remove());
  const startFleet = useFleets();
  const receiver = useCallbackReceiver('each test');
  let fleet: Fleet;

  /** API, task worker and delivery worker of a version. Runs of version `2` have an additional step. */
  async function startAll(build: '1' | '2'): Promise<{ api: Process; all: Process[] }> {
    const all = await fleet.startAll({ build, ...(build === '2' ? { folder: next.folder } : {}) });
    return { api: all[0], all };
  }

  it('finishes runs on the version that started them, and starts new runs on the next version', async () => {
    fleet = await startFleet();
    const first = await startAll('1');
    await fleet.use('1');
    const second = await startAll('2');
    const begun = await Promise.all([
      submitUnderWay(first.api),
      submitPaused(first.api),
      fleet.submit(first.api, { metadata: { rehearsal: { start_ms: 8_000, steps: 1 } } }),
      fleet.submit(first.api, { metadata: { rehearsal: { plan_ms: 8_000, steps: 1 } } }),
      fleet.submit(first.api, {
        metadata: { rehearsal: { steps: 2, step_ms: 3_000, fail: { step: 1, times: 2 } } },
      }),
    ]);

    const before = await fleet.submit(second.api, quick());
    await fleet.reaches(second.api, before, 'completed');
    assert.equal(await fleet.endedOn(before), '1', 'until it is chosen, nothing goes to the next version');

    const none = await fleet.cli.run(['admin', 'use-version', '2', '--percent', '0']);
    assert.equal(none.code, 0, none.stderr);
    const shares = (await fleet.cli.json(['admin', 'versions'])).data.map(
      ({ build, status, share }: Record<string, unknown>) => [build, status, share],
    );
    assert.deepEqual(shares, [
      ['2', 'ramping', 0],
      ['1', 'current', 100],
    ]);

    await fleet.use('2');
    const after = await Promise.all([
      fleet.submit(first.api, quick()),
      fleet.submit(second.api, quick()),
      submitUnderWay(second.api),
    ]);
    const [, paused] = begun;
    await fleet.continue(second.api, paused);
    for (const id of [...begun, ...after]) await fleet.reaches(first.api, id, 'completed');

    for (const id of begun) assert.deepEqual([await fleet.endedOn(id), await hasAddedStep(id)], ['1', false]);
    for (const id of after) assert.deepEqual([await fleet.endedOn(id), await hasAddedStep(id)], ['2', true]);
    await assert.rejects(replayByNext(begun[0]), /[Nn]ondeterminism|[Dd]eterminism/);
    await eventually('all callbacks are there', () => receiver.requests.length === 5);

    const versions = async (): Promise<unknown[][]> => {
      const { data } = await fleet.cli.json(['admin', 'versions']);
      return data.map((one: Record<string, unknown>) => [
        one['build'],
        one['status'],
        one['share'],
        one['open'],
      ]);
    };
    const areDone = async () => (await versions()).every((one) => one.at(-1) === 0);
    await eventually('Temporal counts no open run', areDone);
    assert.deepEqual(await versions(), [
      ['2', 'current', 100, 0],
      ['1', 'draining', 0, 0],
    ]);
  });

  it('leaves runs waiting if old workers are stopped too early, until those are back', async () => {
    fleet = await startFleet();
    const first = await startAll('1');
    await fleet.use('1');
    const second = await startAll('2');
    const [paused, underWay] = [await submitPaused(first.api), await submitPaused(first.api)];
    await fleet.use('2');
    await fleet.continue(second.api, underWay);
    await fleet.reaches(second.api, underWay, 'executing');
    await Promise.all(first.all.map((one) => one.stop()));
    await fleet.continue(second.api, paused);

    // The runs of the next version take as long as these two together.
    const others = await Promise.all(Array.from({ length: 3 }, () => submitUnderWay(second.api)));
    for (const id of others) await fleet.reaches(second.api, id, 'completed');
    for (const id of [underWay, paused]) {
      const { status } = await fleet.client.workflow.getHandle(id).describe();
      assert.equal(status.name, 'RUNNING');
    }
    assert.equal(await fleet.openWorkflows('1'), 2);

    await fleet.start({ kind: 'worker', build: '1' });
    for (const id of [underWay, paused]) {
      await fleet.reaches(second.api, id, 'completed');
      assert.equal(await fleet.endedOn(id), '1');
    }
    await eventually(
      'Temporal counts none of the old version',
      async () => (await fleet.openWorkflows('1')) === 0,
    );
  });

  it('moves mails and delivery retries to the new version', async () => {
    const port = await freePort();
    fleet = await startFleet({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'baton@example.com' });
    const first = await startAll('1');
    await fleet.use('1');
    const second = await startAll('2');
    const webhookId = await fleet.createWebhook(first.api, receiver.url);
    const escalated = await fleet.submit(first.api, {
      metadata: { rehearsal: { steps: 1, escalate: { step: 1, reason: 'A person must decide.' } } },
    });
    await fleet.reaches(first.api, escalated, 'escalated');
    const notice = await eventually('the mail is being tried', () => workflowOf('notifyAdmins'));
    assert.equal(await eventually('it has a version', () => fleet.versionOf(notice)), '1');

    await publishToRetry(fleet, first.api, receiver);
    await fleet.use('2');
    await Promise.all(first.all.map((one) => one.stop()));
    receiver.answering(204);
    const mails = await startMailServer({ port });
    try {
      await mails.receives(1, 240_000);
      await untilRetryIsMade(fleet);
      assert.equal(await fleet.versionOf(notice), '2');
      const retries = await workflowOf('webhookDelivery');
      assert.equal(retries && (await fleet.versionOf(retries)), '2');
      const { json } = await fleet.send(second.api, 'GET', `/api/v1/webhooks/${webhookId}/deliveries`);
      assert.equal(json.data[0].status, 'succeeded');
    } finally {
      await mails.close();
    }
  });

  it('from workers without a version moves their runs to the first version', async () => {
    fleet = await startFleet();
    const plain = await fleet.start({ kind: 'worker', build: null });
    const api = await fleet.start({ kind: 'api', build: null });
    const paused = await submitPaused(api);
    assert.equal(await fleet.versionOf(paused), null);
    const first = await startAll('1');
    await fleet.use('1');
    await plain.stop();
    await api.stop();
    await fleet.continue(first.api, paused);
    await fleet.reaches(first.api, paused, 'completed');
    assert.equal(await fleet.endedOn(paused), '1');
  });

  it('to a version without workers is rejected with an error message', async () => {
    fleet = await startFleet();
    const refused = await fleet.cli.run(['admin', 'use-version', 'nowhere', '--wait', '1']);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /Temporal refused: .+/);
    assert.deepEqual(await fleet.cli.json(['admin', 'versions']), { data: [] });
    const wrong = await fleet.cli.run(['admin', 'use-version', '1', '--percent', '100']);
    assert.deepEqual([wrong.code, wrong.stderr.includes('--percent must be')], [2, true]);
    const away = await fleet.cli.run(['admin', 'versions'], { env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    assert.equal(away.code, 6, away.stderr);
  });

  const quick = () => ({ callback_url: receiver.url, metadata: { rehearsal: { steps: 2 } } });

  async function submitUnderWay(api: Process): Promise<string> {
    const id = await fleet.submit(api, { callback_url: receiver.url, metadata: { rehearsal: UNDER_WAY } });
    await fleet.reaches(api, id, 'executing');
    return id;
  }

  async function submitPaused(api: Process): Promise<string> {
    const id = await fleet.submit(api, { metadata: { rehearsal: UNDER_WAY } });
    await fleet.reaches(api, id, 'executing');
    await fleet.pause(api, id);
    return id;
  }

  /** Returns the id of the newest workflow of a type on the fleet's queues. */
  async function workflowOf(type: string): Promise<string | null> {
    const query = `WorkflowType = '${type}' and TaskQueue = '${fleet.environment['BATON_TASK_QUEUE']}-deliveries'`;
    for await (const { workflowId } of fleet.client.workflow.list({ query })) return workflowId;
    return null;
  }

  /** Returns whether the run began with the step that the next version has added. */
  async function hasAddedStep(id: string): Promise<boolean> {
    const { events } = await fleet.client.workflow.getHandle(id).fetchHistory();
    const timer = (events ?? []).find((event) => event.timerStartedEventAttributes);
    const { seconds, nanos } = timer?.timerStartedEventAttributes?.startToFireTimeout ?? {};
    return Number(seconds ?? 0) === 0 && (nanos ?? 0) === ADDED_STEP_MS * 1e6;
  }

  /** @throws if the next version cannot replay the history of this run */
  async function replayByNext(id: string): Promise<void> {
    useRuntime(pino({ level: 'silent' }));
    const history = await fleet.client.workflow.getHandle(id).fetchHistory();
    const file = pathToFileURL(join(next.folder, 'src', 'runtime', 'bundle.ts')).href;
    const { workflowBundle } = (await import(file)) as typeof bundles;
    const bundle = await workflowBundle(new DefaultLogger('ERROR'));
    await Worker.runReplayHistory({ workflowBundle: bundle, replayName: id }, history, id);
  }
});
