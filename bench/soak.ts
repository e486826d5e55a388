import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { freePort } from '../dev/common/free-port.ts';
import { services } from '../test/support/services.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver } from './support/callback-receiver.ts';
import { residentByPart, total } from './support/parts.ts';
import { ratio, row, type FigureTable, type Series } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';
import { steadyViewers } from './support/steady-viewers.ts';
import { submitter } from './support/task-load.ts';
import { flatness, memoryTrend } from './support/trend.ts';
import { eventClient, startBenchReceiver } from './support/webhook-load.ts';

/*
 * `npm run bench soak [-- --minutes 30] [--quick]`: steady load of all kinds on all processes, with the memory of each
 * over time. Whether it is flat is judged by a robust line through what comes after the first third.
 */
const MINUTES = 30;
const QUICK_MINUTES = 0.5;
const TASKS_A_SECOND = 2;
const EVENTS_A_SECOND = 20;
const LOOKS_A_SECOND = 4;
const VIEWERS = 50;
/** Viewers leave and others come so often; the runs that they watch end by then. */
const ROUND_MS = 20_000;
const WATCHED = { steps: 10, step_ms: 1_500 };
const SAMPLES = 360;

/** What has been asked for, and what failed, with the words of the first failure. */
type Tally = { done: number; failed: number; first: string | null };

/** Calls `work` so often a second until `until`, whatever it takes; waits for what is under way. */
async function steadily(perSecond: number, until: number, work: () => Promise<unknown>): Promise<Tally> {
  const tally: Tally = { done: 0, failed: 0, first: null };
  const under = new Set<Promise<void>>();
  for (let next = performance.now(); next < until; next += 1_000 / perSecond) {
    await wait(Math.max(0, next - performance.now()));
    const one = work().then(
      () => void (tally.done += 1),
      (error: Error) => {
        tally.failed += 1;
        tally.first ??= error.message;
      },
    );
    under.add(one);
    void one.then(() => under.delete(one));
  }
  await Promise.all(under);
  return tally;
}

/** Samples the memory of each part until `until`. Series are in the order in which parts were seen first. */
async function sampled(begun: number, until: number): Promise<Series[]> {
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

/** The calls that the load consists of, over HTTP. */
function callsOf(baton: BatonUnderTest, dispatcher: Agent) {
  const headers = { 'x-api-key': baton.installation.api_key };
  const ask = async (method: 'GET' | 'POST', path: string): Promise<unknown> => {
    const answer = await request(`${baton.url}/api/v1${path}`, { method, headers, dispatcher });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  };
  return {
    look: (path: string) => ask('GET', path),
    token: async () => ((await ask('POST', '/tokens')) as { token: string }).token,
  };
}

function memoryTable(series: readonly Series[]): FigureTable {
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

function loadTable(tallies: [title: string, tally: Tally][]): FigureTable {
  const count = (title: string) => ({ title, unit: '', digits: 0 });
  return {
    id: 'load',
    title: 'The load',
    columns: [count('done'), count('failed')],
    rows: tallies.map(([title, { done, failed }]) => row(title, [done, failed])),
  };
}

await runBench({ name: 'soak', title: 'Half an hour of steady load' }, async (context): Promise<Found> => {
  const { say, profiles } = context;
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
  const calls = callsOf(baton, dispatcher);
  const place = { url: baton.url, key, projectId, callbackUrl: callbacks.url };
  const submit = submitter(place, { steps: 3 }, dispatcher);
  const submitWatched = submitter(place, WATCHED, dispatcher);
  const events = eventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
  const webhookId = await events.webhook('/soak');
  const viewers = steadyViewers(`http://127.0.0.1:${gatewayPort}`, calls.token);
  const paths = [
    '/tasks',
    '/tasks?state=failed',
    `/webhooks/${webhookId}/deliveries`,
    `/webhooks/${webhookId}`,
  ];
  let looks = 0;

  say(
    `${minutes} minutes of ${TASKS_A_SECOND} tasks, ${EVENTS_A_SECOND} events and ${LOOKS_A_SECOND} lists a second, ${VIEWERS} viewers`,
  );
  const begun = performance.now();
  const until = begun + minutes * 60_000;
  const [series, tasks, published, lists, rounds] = await Promise.all([
    sampled(begun, until),
    steadily(TASKS_A_SECOND, until, async () => await callbacks.arrival(await submit(), { once: true })),
    steadily(EVENTS_A_SECOND, until, () => events.publish()),
    steadily(LOOKS_A_SECOND, until, () => calls.look(paths[(looks += 1) % paths.length] ?? '')),
    steadily(1_000 / ROUND_MS, until, async () => {
      await viewers.watch(await Promise.all(Array.from({ length: 5 }, submitWatched)), VIEWERS);
    }),
    steadily(1, until, () => receiver.forget()),
  ]);
  const seen = viewers.seen();
  await viewers.leave();
  receiver.end();
  callbacks.close();
  await dispatcher.close();
  await Promise.all(processes.map((one) => one.stop()));
  await baton.fresh.drop();
  const tallies: [string, Tally][] = [
    ['tasks, with their callbacks', tasks],
    ['events', published],
    ['lists', lists],
    [`rounds of ${VIEWERS} viewers`, rounds],
  ];
  for (const [title, { failed, first }] of tallies)
    if (failed > 0) say(`${failed} ${title} failed: ${first}`);
  const failed = tallies.reduce((sum, [, one]) => sum + one.failed, 0);
  return {
    tables: [memoryTable(series), loadTable(tallies)],
    ratios: [
      ...series.map(flatness),
      ratio(
        'memory of all processes',
        total(new Map(series.map((one) => [one.title, memoryTrend(one).median]))),
        {
          unit: 'MB',
          digits: 0,
        },
      ),
      ratio('requests that failed', failed, { digits: 0, wanted: { at_most: 0 } }),
      ratio('messages that viewers got', seen, { digits: 0, wanted: { at_least: 1 } }),
    ],
    series,
  };
});
