import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { withClient } from '../../dev/services/postgres.ts';
import { NODE_CLIENTS } from '../support/channel-clients.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { announcedSeed, createRandom } from '../support/random.ts';
import { eventually } from '../support/eventually.ts';
import { startViewer, type Viewer } from '../support/viewer.ts';
import { startFleet, type Fleet, type Place, type Process } from './fleet.ts';
import { makeNextVersion, type NextVersion } from './next-version.ts';

const INTERVAL_MS = 400;
const KINDS = ['api', 'gateway', 'worker', 'deliveryWorker'] as const;

describe('a rolling restart to the next version under load', function () {
  this.timeout(500_000);
  let next: NextVersion;
  let fleet: Fleet;
  /** Stops what would continue after a failed test. */
  const cleanups: (() => Promise<unknown>)[] = [];

  before(async () => {
    next = makeNextVersion();
    fleet = await startFleet();
  });
  after(async () => {
    for (const stop of cleanups) await stop().catch(() => {});
    await fleet.close();
    next.remove();
  });
  const callbacks = useCallbackReceiver();
  const deliveries = useCallbackReceiver();

  it('loses no run, callback, event or live update', async () => {
    const old = await startTwoOfEach({ build: '1' });
    await fleet.use('1');
    await fleet.createWebhook(old.api[0], deliveries.url);

    const apis = [...old.api];
    const load = startLoad(apis);
    cleanups.push(() => load.stop());
    await eventually('the load has started', () => load.runs.size >= 5 && load.events.size >= 5, 60_000);
    const gateways = old.gateway.map(({ url }) => url);
    const viewers = await startViewers(old.api[0], gateways);
    cleanups.push(...viewers.map((viewer) => () => viewer.close()));

    // A new process replaces each old one. Then the next version is chosen.
    await Promise.all(
      KINDS.map(async (kind) => {
        for (const leaving of old[kind]) {
          const one = await fleet.start({ kind, build: '2', folder: next.folder });
          if (kind === 'api') apis.push(one);
          if (kind === 'gateway') gateways.push(one.url);
          // Callers and viewers get no warning. Old workers stay until the work that they started has ended.
          if (kind === 'api' || kind === 'gateway') await leaving.stop();
        }
      }),
    );
    await fleet.use('2');
    const before = load.runs.size;
    await eventually('more runs are accepted', () => load.runs.size >= before + 10, 60_000);
    await load.stop();
    const isDrained = async () => (await fleet.openWorkflows('1')) === 0;
    await eventually('version 1 has no open workflows', isDrained, 120_000);
    for (const one of [...old.worker, ...old.deliveryWorker]) await one.stop();

    const api = apis.at(-1);
    assert.ok(api);
    for (const id of load.runs) await fleet.reaches(api, id, 'completed', 120_000);
    await eventually('all callbacks are settled', async () => (await pendingCallbacks()) === 0, 60_000);
    const called = countBy(callbacks.requests.map(({ body }) => JSON.parse(body.toString()).execution_id));
    assert.deepEqual(
      [...load.runs].filter((id) => !called.has(id)),
      [],
      'runs without a callback',
    );
    const arrived = () => countBy(deliveries.requests.map(({ body }) => idOf(body)));
    const missing = () => [...load.events].filter((id) => !arrived().has(id));
    await eventually('all events have arrived', () => missing().length === 0, 120_000).catch(() => {});
    assert.deepEqual(missing(), [], 'events that did not arrive');
    const versions = countBy(await Promise.all([...load.runs].map((id) => fleet.endedOn(id))));
    assert.deepEqual([...versions.keys()].toSorted(), ['1', '2']);
    await assertViewersSawAll(api, viewers);

    const twice = (counts: Map<string | null, number>) =>
      [...counts.values()].filter((count) => count > 1).length;
    console.log(
      `      ${load.runs.size} runs (${versions.get('1')} on version 1, ${versions.get('2')} on version 2), ` +
        `${load.events.size} events; requests sent again: ${load.repeats()}; ` +
        `callbacks twice: ${twice(called)}; deliveries twice: ${twice(arrived())}`,
    );
  });

  async function startTwoOfEach(
    place: Pick<Place, 'build'>,
  ): Promise<Record<Place['kind'], [Process, Process]>> {
    const two = (kind: Place['kind']) =>
      Promise.all([fleet.start({ kind, ...place }), fleet.start({ kind, ...place })]);
    const [api, gateway, worker, deliveryWorker] = await Promise.all([
      two('api'),
      two('gateway'),
      two('worker'),
      two('deliveryWorker'),
    ] as const);
    return { api, gateway, worker, deliveryWorker };
  }

  /** A caller that sends tasks and events in turn, and repeats interrupted requests with the same key. */
  function startLoad(apis: readonly Process[]) {
    const runs = new Set<string>();
    const events = new Set<string>();
    let repeats = 0;
    let isStopped = false;
    const pending: Promise<void>[] = [];

    async function sendUntilAccepted(number: number, path: string, body: object, status: number) {
      for (let tried = 0; ; tried += 1) {
        const api = apis[(number + tried) % apis.length] as Process;
        const headers = { 'X-API-Key': fleet.installation.api_key, 'Idempotency-Key': `n${number}` };
        const answered = await fleet.send(api, 'POST', path, { body, headers }).catch(() => null);
        if (answered?.status === status) return answered.json;
        const isRetryable = answered === null || [409, 503].includes(answered.status);
        assert.ok(isRetryable && tried < 100, `${path} answered ${answered?.status}: ${answered?.text}`);
        repeats += 1;
        await wait(100);
      }
    }

    async function sendOne(number: number): Promise<void> {
      if (number % 2 === 0) {
        const rehearsal = { steps: 3, step_ms: 400, progress_events: 2 };
        const body = {
          title: `Run ${number}`,
          project_id: fleet.installation.project_id,
          callback_url: callbacks.url,
          metadata: { rehearsal },
        };
        runs.add((await sendUntilAccepted(number, '/api/v1/tasks', body, 201)).execution_id);
      } else {
        const id = `event-${number}`;
        const data = { issue: { id, title: id } };
        await sendUntilAccepted(number, '/api/v1/events', { id, event: 'issue.created', data }, 202);
        events.add(id);
      }
    }

    const sending = (async () => {
      for (let number = 0; !isStopped; number += 1) {
        pending.push(sendOne(number));
        await wait(INTERVAL_MS);
      }
    })();
    return {
      runs,
      events,
      repeats: () => repeats,
      async stop() {
        isStopped = true;
        await sending;
        await Promise.all(pending);
      },
    };
  }

  /** Starts two viewers of different kinds on a run that outlasts the restart. They reconnect to any gateway. */
  async function startViewers(api: Process, urls: readonly string[]): Promise<Viewer[]> {
    const random = createRandom(announcedSeed());
    const { json } = await fleet.send(api, 'POST', '/api/v1/tokens', { body: {} });
    const rehearsal = { steps: 20, step_ms: 3_000, progress_events: 3 };
    const executionId = await fleet.submit(api, { metadata: { rehearsal } });
    const viewers = [NODE_CLIENTS.at(0), NODE_CLIENTS.at(-1)].map((client) => {
      assert.ok(client);
      const disconnects = { max: 0, probability: 0 };
      return startViewer({
        client,
        urls,
        token: json.token,
        executionId,
        random: random.fork(),
        disconnects,
      });
    });
    await Promise.all(viewers.map((viewer) => viewer.reaches(5)));
    return viewers;
  }

  async function assertViewersSawAll(api: Process, viewers: readonly Viewer[]): Promise<void> {
    try {
      for (const viewer of viewers) {
        await fleet.reaches(api, viewer.executionId, 'completed', 120_000);
        const { json } = await fleet.send(api, 'GET', `/api/v1/tasks/${viewer.executionId}/events`);
        await viewer.reaches(json.data.length);
        assert.deepEqual(viewer.events, json.data, viewer.client);
        assert.ok(viewer.connections() > 1, `${viewer.client} had to reconnect`);
      }
    } finally {
      await Promise.all(viewers.map((viewer) => viewer.close()));
    }
  }

  async function pendingCallbacks(): Promise<number> {
    const { rows } = await withClient(fleet.databaseUrl, (client) =>
      client.query<{ count: number }>(
        `select count(*)::integer as count from task_runs where callback_url is not null and callback_status = 'pending'`,
      ),
    );
    return rows[0]?.count ?? -1;
  }

  const idOf = (body: Buffer): string => JSON.parse(body.toString()).data.issue.id;

  function countBy<T>(values: readonly T[]): Map<T, number> {
    const counts = new Map<T, number>();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return counts;
  }
});
