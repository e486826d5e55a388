import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { freePort } from '../dev/common/free-port.ts';
import { services } from '../test/support/services.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver } from './support/callback-receiver.ts';
import { residentByPart, total } from './support/parts.ts';
import { ratio, row, type MetricTable, type Series } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import { createSteadyViewers } from './support/steady-viewers.ts';
import { createSubmit } from './support/task-load.ts';
import { rateGrowth, memoryTrend } from './support/trend.ts';
import { createEventClient, startBenchReceiver } from './support/webhook-load.ts';

/*
 * `npm run bench soak [-- --minutes 30] [--quick]` puts steady load of all kinds on all processes and records the memory
 * of each. A robust line through the samples after the first third shows whether it grows.
 */
const MINUTES = 30;
const QUICK_MINUTES = 0.5;
const TASKS_PER_SECOND = 2;
const EVENTS_PER_SECOND = 20;
const LISTS_PER_SECOND = 4;
const VIEWERS = 50;
/** The interval in which all viewers are replaced. Their runs end in that time. */
const ROUND_MS = 20_000;
const WATCHED = { steps: 10, step_ms: 1_500 };
const SAMPLES = 360;

/** Counts of calls, and the message of the first failure. */
type LoadCounts = { done: number; failed: number; first: string | null };

/** Calls `work` at a constant rate until `until`, then waits for the calls in progress. */
async function runSteadily(
  perSecond: number,
  until: number,
  work: () => Promise<unknown>,
): Promise<LoadCounts> {
  const counts: LoadCounts = { done: 0, failed: 0, first: null };
  const pending = new Set<Promise<void>>();
  for (let next = performance.now(); next < until; next += 1_000 / perSecond) {
    await wait(Math.max(0, next - performance.now()));
    const one = work().then(
      () => void (counts.done += 1),
      (error: Error) => {
        counts.failed += 1;
        counts.first ??= error.message;
      },
    );
    pending.add(one);
    void one.then(() => pending.delete(one));
  }
  await Promise.all(pending);
  return counts;
}

/** Samples the memory of each part until `until`. Series are in the order in which parts were first found. */
async function sampleMemory(begun: number, until: number): Promise<Series[]> {
  const series = new Map<string, Series>();
  const every = (until - begun) / SAMPLES;
  for (let next = begun; performance.now() < until; next += every) {
    await wait(Math.max(0, next - performance.now()));
    const minute = (performance.now() - begun) / 60_000;
    for (const [title, megabytes] of residentByPart()) {
      const one = series.get(title) ?? { title, points: [] };
      series.set(title, one);
      one.points.push([Math.round(minute * 1_000) / 1_000, Math.round(megabytes * 10) / 10]);
    }
  }
  return [...series.values()];
}

/** Creates the HTTP calls of the load. */
function createApiClient(baton: BatonUnderTest, dispatcher: Agent) {
  const headers = { 'x-api-key': baton.installation.api_key };
  const ask = async (method: 'GET' | 'POST', path: string): Promise<unknown> => {
    const answer = await request(`${baton.url}/api/v1${path}`, { method, headers, dispatcher });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  };
  return {
    get: (path: string) => ask('GET', path),
    token: async () => ((await ask('POST', '/tokens')) as { token: string }).token,
  };
}

function createMemoryTable(series: readonly Series[]): MetricTable {
  const mb = (title: string) => ({ title, unit: 'MB', digits: 0 });
  return {
    id: 'memory',
    title: 'Memory of each process under steady load',
    columns: [mb('at first'), mb('median after the first third'), mb('at last')],
    rows: series.map((one) => {
      const [first, last] = [one.points[0]?.[1] ?? null, one.points.at(-1)?.[1] ?? null];
      return row(one.title, [first, memoryTrend(one).median, last]);
    }),
  };
}

function createLoadTable(loads: [title: string, tally: LoadCounts][]): MetricTable {
  const count = (title: string) => ({ title, unit: '', digits: 0 });
  return {
    id: 'load',
    title: 'The load',
    columns: [count('done'), count('failed')],
    rows: loads.map(([title, { done, failed }]) => row(title, [done, failed])),
  };
}

await runBench(
  { name: 'soak', title: 'Half an hour of steady load' },
  async (context): Promise<Measurements> => {
    const { log, profiles } = context;
    const minutes = context.minutes ?? (context.quick ? QUICK_MINUTES : MINUTES);
    const baton = await prepareBaton(profiles);
    const [receiver, callbacks] = await Promise.all([
      startBenchReceiver(),
      startCallbackReceiver(services().tls),
    ]);
    const gatewayPort = await freePort();
    const processes = await Promise.all([
      baton.start('api', 'src/api/server.ts'),
      baton.start('gateway', 'src/gateway/server.ts', undefined, { PORT: String(gatewayPort) }),
      baton.start('task-worker', 'workers/task-worker.ts'),
      baton.start('delivery-worker', 'workers/delivery-worker.ts'),
    ]);
    const dispatcher = new Agent({ connections: 32 });
    const { api_key: key, project_id: projectId } = baton.installation;
    const api = createApiClient(baton, dispatcher);
    const target = { url: baton.url, key, projectId, callbackUrl: callbacks.url };
    const submit = createSubmit(target, { steps: 3 }, dispatcher);
    const submitWatched = createSubmit(target, WATCHED, dispatcher);
    const events = createEventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
    const webhookId = await events.createWebhook('/soak');
    const viewers = createSteadyViewers(`http://127.0.0.1:${gatewayPort}`, api.token);
    const paths = [
      '/tasks',
      '/tasks?state=failed',
      `/webhooks/${webhookId}/deliveries`,
      `/webhooks/${webhookId}`,
    ];
    let listCount = 0;

    log(
      `${minutes} minutes of ${TASKS_PER_SECOND} tasks, ${EVENTS_PER_SECOND} events and ${LISTS_PER_SECOND} lists a second, ${VIEWERS} viewers`,
    );
    const begun = performance.now();
    const until = begun + minutes * 60_000;
    const [series, tasks, published, lists, rounds] = await Promise.all([
      sampleMemory(begun, until),
      runSteadily(
        TASKS_PER_SECOND,
        until,
        async () => await callbacks.waitForCallback(await submit(), { once: true }),
      ),
      runSteadily(EVENTS_PER_SECOND, until, () => events.publish()),
      runSteadily(LISTS_PER_SECOND, until, () => api.get(paths[(listCount += 1) % paths.length] ?? '')),
      runSteadily(1_000 / ROUND_MS, until, async () => {
        await viewers.watch(await Promise.all(Array.from({ length: 5 }, submitWatched)), VIEWERS);
      }),
      runSteadily(1, until, () => receiver.clear()),
    ]);
    const messageCount = viewers.messageCount();
    await viewers.close();
    receiver.end();
    callbacks.close();
    await dispatcher.close();
    await Promise.all(processes.map((one) => one.stop()));
    await baton.fresh.drop();
    const loads: [string, LoadCounts][] = [
      ['tasks, with their callbacks', tasks],
      ['events', published],
      ['lists', lists],
      [`rounds of ${VIEWERS} viewers`, rounds],
    ];
    for (const [title, { failed, first }] of loads)
      if (failed > 0) log(`${failed} ${title} failed: ${first}`);
    const failed = loads.reduce((sum, [, one]) => sum + one.failed, 0);
    return {
      tables: [createMemoryTable(series), createLoadTable(loads)],
      ratios: [
        ...series.map(rateGrowth),
        ratio(
          'memory of all processes',
          total(new Map(series.map((one) => [one.title, memoryTrend(one).median]))),
          {
            unit: 'MB',
            digits: 0,
          },
        ),
        ratio('requests that failed', failed, { digits: 0, wanted: { at_most: 0 } }),
        ratio('messages that viewers got', messageCount, { digits: 0, wanted: { at_least: 1 } }),
      ],
      series,
    };
  },
);
