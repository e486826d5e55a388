import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { Client } from 'pg';
import { connectDatabase } from '../src/database/connect.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver, type CallbackReceiver } from './support/callback-receiver.ts';
import { measureCosts } from './support/costs.ts';
import { summarize, measureMs } from './support/measure.ts';
import { total } from './support/parts.ts';
import { seedRows, analyseTables, type SeedCounts } from './support/seed-rows.ts';
import { ratio, row, type MetricTable, type Ratio } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import { measureInTurns, measureConcurrently, createSubmit, type Submit } from './support/task-load.ts';
import {
  publishBurst,
  createEventClient,
  startBenchReceiver,
  type BenchReceiver,
  type EventClient,
} from './support/webhook-load.ts';
import { measureResultWrites } from './support/result-writes.ts';

/*
 * `npm run bench growth [-- <deliveries>] [--quick] [--profile]` measures the cost of a task, a delivery and the main
 * lists with nothing stored, with some rows, and with ten times as many. The processes run all the time, so they keep
 * the query plans of the smaller database.
 */
const GROWTH_FACTOR = 10;
const PATH = '/growth';
const WRITTEN = '60 results written (ms)';
/** Counts the attempts of one day, of which there are ten times as many. So it is not one of the lists. */
const STATISTICS = 'statistics of a webhook (ms)';
/** The time that work in progress needs to finish after a load. */
const SETTLE_MS = 2_000;

type Setup = {
  baton: BatonUnderTest;
  receiver: BenchReceiver;
  callbacks: CallbackReceiver;
  events: EventClient;
  webhookId: string;
  submit: Submit;
  waitForEnd: (id: string) => Promise<unknown>;
  client: Client;
  dispatcher: Agent;
  /** The number of measurements of each kind. */
  sizes: { alone: number; together: number; events: number; pages: number };
};

/** Metrics by title, in the order of the report. */
type Metrics = Map<string, number>;

async function measureStage(setup: Setup, measureWrites: () => Promise<number>): Promise<Metrics> {
  const { baton, callbacks, receiver, events, submit, waitForEnd, sizes } = setup;
  const kind = { submit, waitForEnd, receiver: callbacks };
  const { alone, together } = sizes;
  const [times] = await measureInTurns([kind], { practice: 5, times: alone });
  const tasks = await measureConcurrently(kind, {
    times: together,
    submitters: 20,
    database: baton.fresh.url,
  });
  const load = { events: sizes.events, publishers: 30, path: PATH };
  await receiver.clear();
  const { result: burst, costs } = await measureCosts(baton.fresh.url, () =>
    publishBurst(events, receiver, load),
  );
  return new Map([
    ['submit, p50 (ms)', times?.submit.p50 ?? Number.NaN],
    ['submit → callback, p50 (ms)', times?.toCallback?.p50 ?? Number.NaN],
    ['CPU of a task (ms)', (1_000 * total(tasks.costs.cpu)) / together],
    ['publish → arrival in a burst, p50 (ms)', burst.deliveryTime.p50],
    ['time of a delivery in a burst (ms)', 1_000 / burst.arrivedPerSecond],
    ['CPU of an event (µs)', (1_000_000 * total(costs.cpu)) / sizes.events],
    ['log of the database for a task (KB)', tasks.costs.stored.log / together / 1_000],
    ['log of the database for an event (KB)', costs.stored.log / sizes.events / 1_000],
    [WRITTEN, await measureWrites()],
    ...(await measurePages(setup)),
  ]);
}

/** Measures the main pages over HTTP: the median in milliseconds. */
async function measurePages(setup: Setup): Promise<Metrics> {
  const { baton, client, webhookId, dispatcher, sizes } = setup;
  const { rows } = await client.query<{ id: string }>(
    `select id from task_runs where state = 'completed' order by id desc limit 1`,
  );
  const log = `/webhooks/${webhookId}/deliveries`;
  const pages: [title: string, path: string][] = [
    ['runs: newest (ms)', '/tasks'],
    ['runs: failed ones (ms)', '/tasks?state=failed'],
    ['runs: by metadata (ms)', '/tasks?metadata.reference=r17'],
    ['one run (ms)', `/tasks/${rows[0]?.id}`],
    ['events of a run (ms)', `/tasks/${rows[0]?.id}/events`],
    ['deliveries: newest (ms)', log],
    ['deliveries: failed ones (ms)', `${log}?status=failed`],
    ['deliveries: by a word (ms)', `${log}?text=seeded17`],
    ['one webhook (ms)', `/webhooks/${webhookId}`],
    [STATISTICS, `/webhooks/${webhookId}/stats`],
  ];
  const headers = { 'x-api-key': baton.installation.api_key };
  const fetchPage = async (path: string) => {
    const answer = await request(`${baton.url}/api/v1${path}`, { headers, dispatcher });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  };
  const samples = new Map(pages.map(([title]) => [title, [] as number[]]));
  // In turns, so that other activity affects all measurements equally. The load must have ended before.
  await wait(SETTLE_MS);
  for (let time = 0; time < sizes.pages; time += 1) {
    for (const [title, path] of pages) samples.get(title)?.push(await measureMs(() => fetchPage(path)));
  }
  return new Map([...samples].map(([title, times]) => [title, summarize(times.slice(2)).p50]));
}

function growthTable(stages: [title: string, figures: Metrics][], unanalysed: number): MetricTable {
  const plain = (title: string) => ({ title, unit: '', digits: 1 });
  const titles = [...(stages[0]?.[1].keys() ?? [])];
  const valuesOf = (title: string) => stages.map(([, figures]) => figures.get(title) ?? Number.NaN);
  const rowOf = (title: string) => {
    const values = valuesOf(title);
    const [, some = Number.NaN, many = Number.NaN] = values;
    return row(title, [...values, many / some]);
  };
  return {
    id: 'growth',
    title: 'The same with more stored',
    columns: [...stages.map(([title]) => plain(title)), { title: 'ten times as much', unit: '×', digits: 2 }],
    rows: [
      ...titles.map(rowOf),
      row(`${WRITTEN}, tables not analysed since`, [valuesOf(WRITTEN)[0] ?? null, null, unanalysed, null]),
    ],
  };
}

/** The goals: an indexed row may cost a little more in a larger tree, and nothing may grow with the number of rows. */
function ratiosOf({ rows }: MetricTable): Ratio[] {
  const growthOf = (title: string) => rows.find((one) => one.title === title)?.values.at(-1) ?? Number.NaN;
  const lists = rows
    .slice(rows.findIndex(({ title }) => title === WRITTEN) + 1, -1)
    .filter(({ title }) => title !== STATISTICS);
  const wanted = { wanted: { at_most: 1.25 } };
  return [
    ratio('CPU of a task, ten times the rows', growthOf('CPU of a task (ms)'), wanted),
    ratio('submit → callback, ten times the rows', growthOf('submit → callback, p50 (ms)'), wanted),
    ratio('CPU of an event, ten times the rows', growthOf('CPU of an event (µs)'), wanted),
    ratio(
      'the list that grows most, ten times the rows',
      Math.max(...lists.map(({ title }) => growthOf(title))),
      { wanted: { at_most: 2 } },
    ),
    ratio('statistics of ten times the attempts', growthOf(STATISTICS)),
  ];
}

/** Starts everything, with one webhook under load. `end` stops it. */
async function prepareSetup(
  profiles: string | undefined,
  sizes: Setup['sizes'],
): Promise<Setup & { end(): Promise<void> }> {
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  installRuntime(pino({ level: 'warn' }, pino.destination(2)));
  const temporal = await connectTemporal();
  const baton = await prepareBaton(profiles);
  const [receiver, callbacks] = await Promise.all([
    startBenchReceiver(),
    startCallbackReceiver(services().tls),
  ]);
  const processes = [
    await baton.start('api', 'src/api/server.ts'),
    await baton.start('task-worker', 'workers/task-worker.ts'),
    await baton.start('delivery-worker', 'workers/delivery-worker.ts'),
  ];
  const client = new Client(baton.fresh.url);
  await client.connect();
  const { api_key: key, project_id: projectId } = baton.installation;
  const dispatcher = new Agent({ connections: 64 });
  const events = createEventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
  const webhookId = await events.createWebhook(PATH);
  const target = { url: baton.url, key, projectId, callbackUrl: callbacks.url };
  const submit = createSubmit(target, { steps: 3 }, dispatcher);
  const waitForEnd = (id: string) => temporal.client.workflow.getHandle(id).result();
  const end = async () => {
    await Promise.all([client.end(), dispatcher.close()]);
    receiver.end();
    callbacks.close();
    await Promise.all(processes.map((one) => one.stop()));
    await temporal.connection.close();
    await baton.fresh.drop();
  };
  return {
    baton,
    receiver,
    callbacks,
    events,
    webhookId,
    submit,
    waitForEnd,
    client,
    dispatcher,
    sizes,
    end,
  };
}

/**
 * Measures, seeds rows and measures again. `unanalysed`: the time of writing results right after the last seeding,
 * before an ANALYZE.
 */
async function measureStages(
  setup: Setup,
  counts: SeedCounts,
  say: (sentence: string) => void,
): Promise<{ stages: [string, Metrics][]; unanalysed: number }> {
  const { baton, client, webhookId } = setup;
  const { workspace_id: workspaceId } = baton.installation;
  // A separate connection, which keeps its query plans.
  const database = await connectDatabase(baton.fresh.url, 1);
  const measureWrites = () => measureResultWrites(database, client, { workspaceId, webhookId });
  say('practice');
  await measureStage(setup, measureWrites);
  say('next to nothing stored');
  const stages: [string, Metrics][] = [['next to nothing', await measureStage(setup, measureWrites)]];
  let unanalysed = Number.NaN;
  let stored: SeedCounts = { runs: 0, deliveries: 0 };
  for (const times of [1, GROWTH_FACTOR]) {
    const next = { runs: counts.runs * times, deliveries: counts.deliveries * times };
    const title = `${next.runs.toLocaleString('en')} runs, ${next.deliveries.toLocaleString('en')} deliveries`;
    say(`seeding: ${title}`);
    await seedRows(client, {
      runs: next.runs - stored.runs,
      deliveries: next.deliveries - stored.deliveries,
    });
    stored = next;
    unanalysed = await measureWrites();
    await analyseTables(client);
    say(title);
    stages.push([title, await measureStage(setup, measureWrites)]);
  }
  await database.close();
  return { stages, unanalysed };
}

await runBench({ name: 'growth', title: 'With more stored' }, async (context): Promise<Measurements> => {
  const { size, quick, profiles, log } = context;
  const deliveries = size ?? (quick ? 1_000 : 20_000);
  const sizes = quick
    ? { alone: 3, together: 10, events: 100, pages: 6 }
    : { alone: 30, together: 150, events: 6_000, pages: 60 };
  const setup = await prepareSetup(profiles, sizes);
  const { stages, unanalysed } = await measureStages(setup, { deliveries, runs: deliveries / 2 }, log);
  await setup.end();
  const table = growthTable(stages, unanalysed);
  return { tables: [table], ratios: ratiosOf(table) };
});
