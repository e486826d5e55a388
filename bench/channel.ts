import { readFileSync } from 'node:fs';
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { request } from 'undici';
import { inCheckout } from '../dev/common/paths.ts';
import { connectDatabase } from '../src/database/connect.ts';
import { recordChange } from '../src/database/tasks/feed.ts';
import { insertRun } from '../src/database/tasks/task-runs.ts';
import { prepareBaton } from './support/baton.ts';
import { createTimedText, type Protocol } from './support/channel-viewers.ts';
import { COLLECT } from './support/collect-garbage.ts';
import { runConcurrently, summarize, measureMs, type Summary } from './support/measure.ts';
import { readBenchOptions } from './support/options.ts';
import { ratio, row, type MetricTable, type Ratio } from './support/results.ts';
import { profileFolderOf, runBench, type Measurements } from './support/run-bench.ts';
import { startViewers, type ViewerCounts } from './support/viewers.ts';

/*
 * `npm run bench channel [-- <events>] [--quick] [--profile]` measures the time from the write of an event to its arrival
 * at viewers in other processes, compared with a bare NOTIFY to a listener in the same run; events a second; and the
 * memory of a connection. Only the ratios can be compared between machines.
 */
const options = readBenchOptions(process.argv.slice(2));
const { size, quick } = options;
const EVENTS = size ?? (quick ? 30 : 300);
const MANY_VIEWERS = quick ? 200 : 1_000;
const RUNS = quick ? 40 : 200;
/** Events a second at rest. All compared measurements use the same rate, since an idle machine wakes up slowly. */
const RATE = 50;
/** Events a second of each of the many runs. */
const BUSY_RATE = 2;
const WRITERS = 16;
const EVENT_BYTES = 200;
/** Events of one write without rest. */
const BATCH_SIZE = 10;
const SETTLE_MS = 1_000;
const MEMORY = ['--import', inCheckout('bench', 'support', 'collect-garbage.ts')];

process.env['CHANNEL_CONNECTIONS_PER_TOKEN'] = '100000';
const baton = await prepareBaton(profileFolderOf('channel', options));
const { installation, fresh } = baton;
const database = await connectDatabase(fresh.url, WRITERS);
const token = await createToken();
const viewers = await startViewers(baton.url, token, MANY_VIEWERS);

/** Creates a token. The API runs only for this; then the gateway listens on its port. */
async function createToken(): Promise<string> {
  const api = await baton.start('api', 'src/api/server.ts');
  const headers = { 'x-api-key': installation.api_key };
  const answer = await request(`${baton.url}/api/v1/tokens`, { method: 'POST', headers });
  const made = (await answer.body.json()) as { token: string };
  await api.stop();
  return made.token;
}

/** Stores a run that has no workflow. */
async function newRun(): Promise<string> {
  const id = randomUUIDv7();
  await insertRun(database, {
    id,
    workspace_id: installation.workspace_id,
    project_id: installation.project_id,
    created_by: 'key:bench',
    title: 'Bench',
    description: null,
    task_type: 'feature',
    metadata: '{}',
    callback_url: null,
    callback_secret: 'sealed',
    created_at: new Date(),
  });
  return id;
}
const newRuns = (count: number) => Promise.all(Array.from({ length: count }, newRun));

async function write(executionId: string, count = 1): Promise<void> {
  const at = new Date().toISOString();
  const entries = Array.from({ length: count }, () => ({
    key: randomUUIDv7(),
    type: 'agent.message' as const,
    at,
    data: { text: createTimedText(EVENT_BYTES) },
  }));
  await recordChange(database, { executionId, view: null, entries });
}

/** Calls `work` at a constant rate, however long the calls take. */
async function runPaced(
  count: number,
  perSecond: number,
  work: (number: number) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  const pending: Promise<void>[] = [];
  for (let number = 0; number < count; number += 1) {
    pending.push(work(number));
    await wait(Math.max(0, begun + ((number + 1) * 1_000) / perSecond - performance.now()));
  }
  await Promise.all(pending);
}

/** Measures the time from just before a statement to its notification. */
async function measureListener(
  channel: string,
  notify: (number: number, client: Client) => Promise<unknown>,
): Promise<Summary> {
  const [listener, notifier] = [new Client(fresh.url), new Client(fresh.url)];
  await Promise.all([listener.connect(), notifier.connect()]);
  await listener.query(`listen ${channel}`);
  const samples: number[] = [];
  for (let number = 0; number < EVENTS + 20; number += 1) {
    const latency = new Promise<number>((resolve) => {
      const begun = performance.now();
      listener.once('notification', () => resolve(performance.now() - begun));
    });
    // The notification may arrive before the response to the notifier.
    const notified = notify(number, notifier);
    samples.push(await latency);
    await notified;
    await wait(1_000 / RATE);
  }
  await Promise.all([listener.end(), notifier.end()]);
  return summarize(samples.slice(20));
}

/** Measures the latency of events at a constant rate over all runs. */
async function measureAtRest(
  count: number,
  runs: string[],
  events: number,
  perSecond: number,
): Promise<ViewerCounts> {
  await viewers.open(runs, count);
  const each = count / runs.length;
  await runPaced(20, perSecond, (number) => write(runs[number % runs.length] ?? ''));
  await viewers.waitForEvents(20 * each);
  await runPaced(events, perSecond, (number) => write(runs[number % runs.length] ?? ''));
  const counts = await viewers.waitForEvents(events * each);
  await viewers.close();
  return counts;
}

/** Measures the maximum rate of events that arrive, over all viewers. */
async function measureThroughput(count: number, runs: string[], writes: number) {
  await viewers.open(runs, count);
  const expected = (writes * BATCH_SIZE * count) / runs.length;
  let counts: ViewerCounts = { received: 0, latencies: [], errors: 0 };
  const ms = await measureMs(async () => {
    await runConcurrently(writes, WRITERS, (number) => write(runs[number % runs.length] ?? '', BATCH_SIZE));
    counts = await viewers.waitForEvents(expected);
  });
  await viewers.close();
  return {
    arrived: (1_000 * counts.received) / ms,
    written: (1_000 * writes * BATCH_SIZE) / ms,
    lost: expected - counts.received + counts.errors,
  };
}

/** Returns the gateway's memory for each joined, idle connection, in bytes, after garbage collection. */
async function measureMemory(protocol: Protocol): Promise<number> {
  const gateway = await baton.start(`gateway, ${protocol}`, 'src/gateway/server.ts', MEMORY);
  const runs = await newRuns(RUNS);
  // Code that is loaded for the first connections does not count.
  await viewers.open(runs, 20, protocol);
  await viewers.close();
  const before = await measureResident(gateway.pid);
  await viewers.open(runs, MANY_VIEWERS, protocol);
  const after = await measureResident(gateway.pid);
  await viewers.close();
  await gateway.stop();
  return (after - before) / MANY_VIEWERS;
}

async function measureResident(pid: number): Promise<number> {
  for (let time = 0; time < 3; time += 1) {
    process.kill(pid, COLLECT);
    await wait(SETTLE_MS);
  }
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

type Log = (sentence: string) => void;
type LatencyResult = { count: number; runs: number; counts: ViewerCounts; latency: Summary };
type ThroughputResult = Awaited<ReturnType<typeof measureThroughput>>;
type Metrics = {
  bare: Summary;
  stored: Summary;
  feedWrite: Summary;
  rest: LatencyResult[];
  wide: ThroughputResult;
  narrow: ThroughputResult;
  memory: { plain: number; socketIo: number };
};

/** Measures notifications by the database alone: a bare NOTIFY, an INSERT with NOTIFY, and the write of an event. */
async function measureListeners(log: Log): Promise<Pick<Metrics, 'bare' | 'stored' | 'feedWrite'>> {
  log('bare NOTIFY to a listener');
  const bare = await measureListener('bench', (number, client) =>
    client.query(`select pg_notify('bench', $1)`, [`${number}`]),
  );
  // A NOTIFY alone writes nothing to the disk before it is sent. An event does.
  await database.em.fork().execute('create table bench_raw (id uuid primary key, body json)');
  const stored = await measureListener('bench', (_number, client) =>
    client.query(`with w as (insert into bench_raw values ($1, $2)) select pg_notify('bench', $1::text)`, [
      randomUUIDv7(),
      JSON.stringify({ text: createTimedText(EVENT_BYTES) }),
    ]),
  );
  const [listened = ''] = await newRuns(1);
  const feedWrite = await measureListener('baton_feed', () => write(listened));
  return { bare, stored, feedWrite };
}

async function measureGateway(log: Log): Promise<Pick<Metrics, 'rest' | 'wide' | 'narrow'>> {
  const gateway = await baton.start('gateway', 'src/gateway/server.ts');
  const rest: LatencyResult[] = [];
  for (const [count, runs, events, perSecond] of [
    [1, 1, EVENTS, RATE],
    [100, 1, EVENTS, RATE],
    [MANY_VIEWERS, 1, Math.ceil(EVENTS / 3), 10],
    [MANY_VIEWERS, RUNS, RUNS * Math.ceil(EVENTS / 15), RUNS * BUSY_RATE],
  ] as const) {
    log(`${count} viewers on ${runs} run(s)`);
    const counts = await measureAtRest(count, await newRuns(runs), events, perSecond);
    rest.push({ count, runs, counts, latency: summarize(counts.latencies) });
  }
  log(`${MANY_VIEWERS} viewers on ${RUNS} runs, without rest`);
  const wide = await measureThroughput(MANY_VIEWERS, await newRuns(RUNS), EVENTS * 10);
  log(`${MANY_VIEWERS} viewers on one run, without rest`);
  const narrow = await measureThroughput(MANY_VIEWERS, await newRuns(1), Math.ceil(EVENTS / 5));
  await gateway.stop();
  return { rest, wide, narrow };
}

function createTables({ bare, stored, feedWrite, rest, wide, narrow }: Metrics): MetricTable[] {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 2 });
  const line = (title: string, { p50, p95 }: Summary, events: number | null = null) =>
    row(title, [p50, p95, p50 / bare.p50, events]);
  const rates = ({ written, arrived, lost }: ThroughputResult) => [written, arrived, lost];
  return [
    {
      id: 'times',
      title: 'From the write of an event to its arrival',
      columns: [
        ms('p50'),
        ms('p95'),
        { title: 'p50 ÷ bare NOTIFY', unit: '', digits: 1 },
        { title: 'arrived', unit: '', digits: 0 },
      ],
      rows: [
        line('bare NOTIFY → listener', bare),
        line('INSERT with NOTIFY → listener', stored),
        line('write of an event → listener', feedWrite),
        ...rest.map(({ count, runs, counts, latency }) =>
          line(`write → client, ${count} viewer(s) on ${runs} run(s)`, latency, counts.received),
        ),
      ],
    },
    {
      id: 'rates',
      title: 'Without rest',
      columns: [
        { title: 'written', unit: '/s', digits: 0 },
        { title: 'arrived', unit: '/s', digits: 0 },
        { title: 'lost', unit: '', digits: 0 },
      ],
      rows: [
        row(`${MANY_VIEWERS} viewers on ${RUNS} runs`, rates(wide)),
        row(`${MANY_VIEWERS} viewers on one run`, rates(narrow)),
      ],
    },
  ];
}

function createRatios({ bare, stored, rest, wide, narrow, memory }: Metrics): Ratio[] {
  const hundred = rest.find(({ count }) => count === 100)?.latency.p50 ?? Number.NaN;
  const lost = rest.reduce((sum, { counts }) => sum + counts.errors, 0) + wide.lost + narrow.lost;
  const kilobytes = { unit: 'KB', digits: 1, wanted: { at_most: 40 } };
  return [
    ratio('write → client ÷ bare NOTIFY, 100 viewers', hundred / bare.p50, { wanted: { at_most: 3 } }),
    ratio('write → client ÷ INSERT with NOTIFY', hundred / stored.p50),
    ratio('events lost', lost, { digits: 0, wanted: { at_most: 0 } }),
    ratio('memory of a plain connection', memory.plain / 1_024, kilobytes),
    ratio('memory of a Socket.IO connection', memory.socketIo / 1_024, kilobytes),
  ];
}

await runBench({ name: 'channel', title: 'The live channel' }, async ({ log }): Promise<Measurements> => {
  const listened = await measureListeners(log);
  const arrived = await measureGateway(log);
  log('memory of connections');
  const memory = { plain: await measureMemory('plain'), socketIo: await measureMemory('socket.io') };
  const metrics: Metrics = { ...listened, ...arrived, memory };
  viewers.end();
  await database.close();
  await fresh.drop();
  return { tables: createTables(metrics), ratios: createRatios(metrics) };
});
