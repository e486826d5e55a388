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
import { textWrittenNow, type Speech } from './support/channel-viewers.ts';
import { COLLECT } from './support/collects-garbage.ts';
import { sideBySide, summarise, timed, type Summary } from './support/figures.ts';
import { readBenchOptions } from './support/options.ts';
import { ratio, row, type FigureTable, type Ratio } from './support/results.ts';
import { profileFolder, runBench, type Found } from './support/run-bench.ts';
import { startViewers, type Seen } from './support/viewers.ts';

/*
 * `npm run bench channel [-- <events>] [--quick] [--profile]`: from the write of an event to its arrival at viewers in other processes, beside
 * the bare NOTIFY to a listener of the same PostgreSQL in this run; events in a second; memory of a connection. Only the
 * ratios travel from machine to machine.
 */
const options = readBenchOptions(process.argv.slice(2));
const { size, quick } = options;
const EVENTS = size ?? (quick ? 30 : 300);
const MANY = quick ? 200 : 1_000;
const RUNS = quick ? 40 : 200;
/** Events in a second at rest: the same for all that is compared, since a machine that sleeps wakes up slowly. */
const RATE = 50;
/** Of each run of the many, in a second. */
const BUSY_RATE = 2;
const WRITERS = 16;
const EVENT_BYTES = 200;
/** Events of one write when there is no rest. */
const TOGETHER = 10;
const SETTLES_MS = 1_000;
const MEMORY = ['--expose-gc', '--import', inCheckout('bench', 'support', 'collects-garbage.ts')];

process.env['CHANNEL_CONNECTIONS_PER_TOKEN'] = '100000';
const baton = await prepareBaton(profileFolder('channel', options));
const { installation, fresh } = baton;
const database = await connectDatabase(fresh.url, WRITERS);
const token = await tokenOfTheApi();
const viewers = await startViewers(baton.url, token, MANY);

/** The API is up for the token alone; the gateway takes its place. */
async function tokenOfTheApi(): Promise<string> {
  const api = await baton.start('api', 'src/api/server.ts');
  const headers = { 'x-api-key': installation.api_key };
  const answer = await request(`${baton.url}/api/v1/tokens`, { method: 'POST', headers });
  const made = (await answer.body.json()) as { token: string };
  await api.stop();
  return made.token;
}

/** A run in which nothing happens but what is written here. */
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
    metadata: {},
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
    data: { text: textWrittenNow(EVENT_BYTES) },
  }));
  await recordChange(database, { executionId, view: null, entries });
}

/** Calls `work` so often in a second, whatever it takes. */
async function paced(
  count: number,
  perSecond: number,
  work: (number: number) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  const under: Promise<void>[] = [];
  for (let number = 0; number < count; number += 1) {
    under.push(work(number));
    await wait(Math.max(0, begun + ((number + 1) * 1_000) / perSecond - performance.now()));
  }
  await Promise.all(under);
}

/** From just before a statement to hearing of it. */
async function toListener(
  channel: string,
  tell: (number: number, client: Client) => Promise<unknown>,
): Promise<Summary> {
  const [listener, teller] = [new Client(fresh.url), new Client(fresh.url)];
  await Promise.all([listener.connect(), teller.connect()]);
  await listener.query(`listen ${channel}`);
  const samples: number[] = [];
  for (let number = 0; number < EVENTS + 20; number += 1) {
    const heard = new Promise<number>((resolve) => {
      const begun = performance.now();
      listener.once('notification', () => resolve(performance.now() - begun));
    });
    // The listener may hear before the teller is answered.
    const told = tell(number, teller);
    samples.push(await heard);
    await told;
    await wait(1_000 / RATE);
  }
  await Promise.all([listener.end(), teller.end()]);
  return summarise(samples.slice(20));
}

/** Viewers of `runs`, and so many events a second over all of them, at rest. */
async function atRest(count: number, runs: string[], events: number, perSecond: number): Promise<Seen> {
  await viewers.open(runs, count);
  const each = count / runs.length;
  await paced(20, perSecond, (number) => write(runs[number % runs.length] ?? ''));
  await viewers.haveSeen(20 * each);
  await paced(events, perSecond, (number) => write(runs[number % runs.length] ?? ''));
  const seen = await viewers.haveSeen(events * each);
  await viewers.close();
  return seen;
}

/** As fast as it goes: events that arrive in a second, over all viewers. */
async function withoutRest(count: number, runs: string[], writes: number) {
  await viewers.open(runs, count);
  const expected = (writes * TOGETHER * count) / runs.length;
  let seen: Seen = { received: 0, lags: [], faults: 0 };
  const ms = await timed(async () => {
    await sideBySide(writes, WRITERS, (number) => write(runs[number % runs.length] ?? '', TOGETHER));
    seen = await viewers.haveSeen(expected);
  });
  await viewers.close();
  return {
    arrived: (1_000 * seen.received) / ms,
    written: (1_000 * writes * TOGETHER) / ms,
    lost: expected - seen.received + seen.faults,
  };
}

/** Bytes of the gateway's memory that a connection takes, joined and at rest, after its garbage is collected. */
async function memoryOf(speech: Speech): Promise<number> {
  const gateway = await baton.start(`gateway, ${speech}`, 'src/gateway/server.ts', MEMORY);
  const runs = await newRuns(RUNS);
  // What is loaded with the first ones belongs to nobody.
  await viewers.open(runs, 20, speech);
  await viewers.close();
  const before = await residentAfterCollection(gateway.pid);
  await viewers.open(runs, MANY, speech);
  const after = await residentAfterCollection(gateway.pid);
  await viewers.close();
  await gateway.stop();
  return (after - before) / MANY;
}

async function residentAfterCollection(pid: number): Promise<number> {
  for (let time = 0; time < 3; time += 1) {
    process.kill(pid, COLLECT);
    await wait(SETTLES_MS);
  }
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

type Say = (sentence: string) => void;
type AtRest = { count: number; runs: number; seen: Seen; way: Summary };
type WithoutRest = Awaited<ReturnType<typeof withoutRest>>;
type Figures = {
  bare: Summary;
  stored: Summary;
  heard: Summary;
  rest: AtRest[];
  wide: WithoutRest;
  narrow: WithoutRest;
  memory: { plain: number; socketIo: number };
};

/** What a database alone takes to tell somebody: a bare NOTIFY, one beside an INSERT, and the write of an event. */
async function toListeners(say: Say): Promise<Pick<Figures, 'bare' | 'stored' | 'heard'>> {
  say('bare NOTIFY to a listener');
  const bare = await toListener('bench', (number, client) =>
    client.query(`select pg_notify('bench', $1)`, [`${number}`]),
  );
  // A NOTIFY alone writes nothing that must be on the disk before it is heard; an event does.
  await database.em.fork().execute('create table bench_raw (id uuid primary key, body json)');
  const stored = await toListener('bench', (_number, client) =>
    client.query(`with w as (insert into bench_raw values ($1, $2)) select pg_notify('bench', $1::text)`, [
      randomUUIDv7(),
      JSON.stringify({ text: textWrittenNow(EVENT_BYTES) }),
    ]),
  );
  const [listened = ''] = await newRuns(1);
  const heard = await toListener('baton_feed', () => write(listened));
  return { bare, stored, heard };
}

async function throughGateway(say: Say): Promise<Pick<Figures, 'rest' | 'wide' | 'narrow'>> {
  const gateway = await baton.start('gateway', 'src/gateway/server.ts');
  const rest: AtRest[] = [];
  for (const [count, runs, events, perSecond] of [
    [1, 1, EVENTS, RATE],
    [100, 1, EVENTS, RATE],
    [MANY, 1, Math.ceil(EVENTS / 3), 10],
    [MANY, RUNS, RUNS * Math.ceil(EVENTS / 15), RUNS * BUSY_RATE],
  ] as const) {
    say(`${count} viewers on ${runs} run(s)`);
    const seen = await atRest(count, await newRuns(runs), events, perSecond);
    rest.push({ count, runs, seen, way: summarise(seen.lags) });
  }
  say(`${MANY} viewers on ${RUNS} runs, without rest`);
  const wide = await withoutRest(MANY, await newRuns(RUNS), EVENTS * 10);
  say(`${MANY} viewers on one run, without rest`);
  const narrow = await withoutRest(MANY, await newRuns(1), Math.ceil(EVENTS / 5));
  await gateway.stop();
  return { rest, wide, narrow };
}

function tablesOf({ bare, stored, heard, rest, wide, narrow }: Figures): FigureTable[] {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 2 });
  const line = (title: string, { p50, p95 }: Summary, events: number | null = null) =>
    row(title, [p50, p95, p50 / bare.p50, events]);
  const rates = ({ written, arrived, lost }: WithoutRest) => [written, arrived, lost];
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
        line('write of an event → listener', heard),
        ...rest.map(({ count, runs, seen, way }) =>
          line(`write → client, ${count} viewer(s) on ${runs} run(s)`, way, seen.received),
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
        row(`${MANY} viewers on ${RUNS} runs`, rates(wide)),
        row(`${MANY} viewers on one run`, rates(narrow)),
      ],
    },
  ];
}

function ratiosOf({ bare, stored, rest, wide, narrow, memory }: Figures): Ratio[] {
  const hundred = rest.find(({ count }) => count === 100)?.way.p50 ?? Number.NaN;
  const lost = rest.reduce((sum, { seen }) => sum + seen.faults, 0) + wide.lost + narrow.lost;
  const kilobytes = { unit: 'KB', digits: 1, wanted: { at_most: 40 } };
  return [
    ratio('write → client ÷ bare NOTIFY, 100 viewers', hundred / bare.p50, { wanted: { at_most: 3 } }),
    ratio('write → client ÷ INSERT with NOTIFY', hundred / stored.p50),
    ratio('events lost', lost, { digits: 0, wanted: { at_most: 0 } }),
    ratio('memory of a plain connection', memory.plain / 1_024, kilobytes),
    ratio('memory of a Socket.IO connection', memory.socketIo / 1_024, kilobytes),
  ];
}

await runBench({ name: 'channel', title: 'The live channel' }, async ({ say }): Promise<Found> => {
  const listened = await toListeners(say);
  const arrived = await throughGateway(say);
  say('memory of connections');
  const memory = { plain: await memoryOf('plain'), socketIo: await memoryOf('socket.io') };
  const found: Figures = { ...listened, ...arrived, memory };
  viewers.end();
  await database.close();
  await fresh.drop();
  return { tables: tablesOf(found), ratios: ratiosOf(found) };
});
