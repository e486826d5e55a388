import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { Client } from 'pg';
import { connectDatabase } from '../src/database/connect.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver, type CallbackReceiver } from './support/callback-receiver.ts';
import { measured } from './support/costs.ts';
import { summarise, timed } from './support/figures.ts';
import { total } from './support/parts.ts';
import { plant, settle, type Planting } from './support/plant.ts';
import { ratio, row, type FigureTable, type Ratio } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';
import { inTurns, sideBySideLoad, submitter, type Submit } from './support/task-load.ts';
import {
  burst,
  eventClient,
  startBenchReceiver,
  type BenchReceiver,
  type EventClient,
} from './support/webhook-load.ts';
import { writtenResults } from './support/written-results.ts';

/*
 * `npm run bench growth [-- <deliveries>] [--quick] [--profile]`: what a task, a delivery and the main lists cost with
 * nothing stored, with some stored, and with ten times as much. The processes run through all of it, so that they keep
 * what they made of the smaller database.
 */
const TIMES = 10;
const PATH = '/growth';
const WRITTEN = '60 results written (ms)';
/** They count the attempts of the day, of which there are ten times as many: so they are none of the lists. */
const STATISTICS = 'statistics of a webhook (ms)';
/** What a load leaves to be done is done by then. */
const SETTLED_MS = 2_000;

type World = {
  baton: BatonUnderTest;
  receiver: BenchReceiver;
  callbacks: CallbackReceiver;
  events: EventClient;
  webhookId: string;
  submit: Submit;
  ended: (id: string) => Promise<unknown>;
  client: Client;
  dispatcher: Agent;
  /** Of everything that is measured, how much. */
  sizes: { alone: number; together: number; events: number; pages: number };
};

/** Figures by their titles, in the order in which they are shown. */
type Figures = Map<string, number>;

async function measureStage(world: World, results: () => Promise<number>): Promise<Figures> {
  const { baton, callbacks, receiver, events, submit, ended, sizes } = world;
  const kind = { submit, ended, receiver: callbacks };
  const { alone, together } = sizes;
  const [times] = await inTurns([kind], { practice: 5, times: alone });
  const tasks = await sideBySideLoad(kind, { times: together, submitters: 20, database: baton.fresh.url });
  const load = { events: sizes.events, publishers: 30, path: PATH };
  await receiver.forget();
  let delivered = Number.NaN;
  let way = Number.NaN;
  const used = await measured(baton.fresh.url, async () => {
    const went = await burst(events, receiver, load);
    [delivered, way] = [went.arrivedPerSecond, went.way.p50];
  });
  return new Map([
    ['submit, p50 (ms)', times?.submit.p50 ?? Number.NaN],
    ['submit → callback, p50 (ms)', times?.toCallback?.p50 ?? Number.NaN],
    ['CPU of a task (ms)', (1_000 * total(tasks.used.cpu)) / together],
    ['publish → arrival in a burst, p50 (ms)', way],
    ['time of a delivery in a burst (ms)', 1_000 / delivered],
    ['CPU of an event (µs)', (1_000_000 * total(used.cpu)) / sizes.events],
    ['log of the database for a task (KB)', tasks.used.stored.log / together / 1_000],
    ['log of the database for an event (KB)', used.stored.log / sizes.events / 1_000],
    [WRITTEN, await results()],
    ...(await pages(world)),
  ]);
}

/** The main lists and looks, milliseconds over HTTP at the median. */
async function pages(world: World): Promise<Figures> {
  const { baton, client, webhookId, dispatcher, sizes } = world;
  const { rows } = await client.query<{ id: string }>(
    `select id from task_runs where state = 'completed' order by id desc limit 1`,
  );
  const log = `/webhooks/${webhookId}/deliveries`;
  const looks: [title: string, path: string][] = [
    ['runs: newest (ms)', '/tasks'],
    ['runs: failed ones (ms)', '/tasks?state=failed'],
    ['runs: by metadata (ms)', '/tasks?metadata.reference=r17'],
    ['one run (ms)', `/tasks/${rows[0]?.id}`],
    ['events of a run (ms)', `/tasks/${rows[0]?.id}/events`],
    ['deliveries: newest (ms)', log],
    ['deliveries: failed ones (ms)', `${log}?status=failed`],
    ['deliveries: by a word (ms)', `${log}?text=planted17`],
    ['one webhook (ms)', `/webhooks/${webhookId}`],
    [STATISTICS, `/webhooks/${webhookId}/stats`],
  ];
  const headers = { 'x-api-key': baton.installation.api_key };
  const look = async (path: string) => {
    const answer = await request(`${baton.url}/api/v1${path}`, { headers, dispatcher });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  };
  const samples = new Map(looks.map(([title]) => [title, [] as number[]]));
  // In turns, so that what else happens meets all of them alike; the load of before comes to its end first.
  await wait(SETTLED_MS);
  for (let time = 0; time < sizes.pages; time += 1) {
    for (const [title, path] of looks) samples.get(title)?.push(await timed(() => look(path)));
  }
  return new Map([...samples].map(([title, times]) => [title, summarise(times.slice(2)).p50]));
}

function growthTable(stages: [title: string, figures: Figures][], unanalysed: number): FigureTable {
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

/** Goals of our own: an indexed row costs a little more in a larger tree, and nothing may grow with the rows. */
function ratiosOf({ rows }: FigureTable): Ratio[] {
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

/** Everything up, with one webhook under load; `end` takes it down. */
async function prepareWorld(
  profiles: string | undefined,
  sizes: World['sizes'],
): Promise<World & { end(): Promise<void> }> {
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  installRuntime(pino({ level: 'warn' }, pino.destination(2)));
  const engine = await connectTemporal();
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
  const events = eventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
  const webhookId = await events.webhook(PATH);
  const place = { url: baton.url, key, projectId, callbackUrl: callbacks.url };
  const submit = submitter(place, { steps: 3 }, dispatcher);
  const ended = (id: string) => engine.client.workflow.getHandle(id).result();
  const end = async () => {
    await Promise.all([client.end(), dispatcher.close()]);
    receiver.end();
    callbacks.close();
    await Promise.all(processes.map((one) => one.stop()));
    await engine.connection.close();
    await baton.fresh.drop();
  };
  return { baton, receiver, callbacks, events, webhookId, submit, ended, client, dispatcher, sizes, end };
}

/** Measures, plants, measures again; and the time of results right after the last planting, before any analysis. */
async function measureStages(
  world: World,
  some: Planting,
  say: (sentence: string) => void,
): Promise<{ stages: [string, Figures][]; unanalysed: number }> {
  const { baton, client, webhookId } = world;
  const { workspace_id: workspaceId } = baton.installation;
  // One connection of its own, which keeps the plans it made before.
  const database = await connectDatabase(baton.fresh.url, 1);
  const results = () => writtenResults(database, client, { workspaceId, webhookId });
  say('practice');
  await measureStage(world, results);
  say('next to nothing stored');
  const stages: [string, Figures][] = [['next to nothing', await measureStage(world, results)]];
  let unanalysed = Number.NaN;
  let stored: Planting = { runs: 0, deliveries: 0 };
  for (const times of [1, TIMES]) {
    const next = { runs: some.runs * times, deliveries: some.deliveries * times };
    const title = `${next.runs.toLocaleString('en')} runs, ${next.deliveries.toLocaleString('en')} deliveries`;
    say(`planting: ${title}`);
    await plant(client, { runs: next.runs - stored.runs, deliveries: next.deliveries - stored.deliveries });
    stored = next;
    unanalysed = await results();
    await settle(client);
    say(title);
    stages.push([title, await measureStage(world, results)]);
  }
  await database.close();
  return { stages, unanalysed };
}

await runBench({ name: 'growth', title: 'With more stored' }, async (context): Promise<Found> => {
  const { size, quick, profiles, say } = context;
  const deliveries = size ?? (quick ? 1_000 : 20_000);
  const sizes = quick
    ? { alone: 3, together: 10, events: 100, pages: 6 }
    : { alone: 30, together: 150, events: 6_000, pages: 60 };
  const world = await prepareWorld(profiles, sizes);
  const { stages, unanalysed } = await measureStages(world, { deliveries, runs: deliveries / 2 }, say);
  await world.end();
  const table = growthTable(stages, unanalysed);
  return { tables: [table], ratios: ratiosOf(table) };
});
