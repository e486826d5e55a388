import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { Agent } from 'undici';
import { connectDatabase } from '../src/database/connect.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../workers/temporal.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver, type CallbackReceiver } from './support/callback-receiver.ts';
import { costTables } from './support/costs.ts';
import { summarise, timed, type Summary } from './support/figures.ts';
import { total } from './support/parts.ts';
import { PLAIN_QUEUE } from './support/plain-worker.ts';
import { ratio, row, type FigureTable, type Ratio } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';
import { loadTasks, submitter, type TaskLoad } from './support/task-load.ts';

/*
 * `npm run bench tasks [-- <runs>] [--quick] [--profile]`: what a task costs, beside a bare eager workflow, a plain
 * hand-written one and a raw INSERT, all measured in this run on the same server. Only the ratios travel from machine
 * to machine.
 */
const SUBMITTERS = 50;
const REHEARSAL = { steps: 3 };
/** With steps of 250 ms, one after another, a task takes a second: so fewer of them. */
const SLOW_SHARE = 4;

type Engine = Awaited<ReturnType<typeof connectTemporal>>;
type World = Engine & { baton: BatonUnderTest; receiver: CallbackReceiver; alone: number; together: number };

async function bareEager({ connection, client, namespace, alone }: World): Promise<Summary> {
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'bench-bare',
    workflowsPath: join(import.meta.dirname, 'support/plain-workflow.ts'),
    maxConcurrentActivityTaskExecutions: 1,
  });
  const samples: number[] = [];
  await worker.runUntil(async () => {
    for (let number = 0; number < alone + 10; number += 1) {
      const workflowId = randomUUID();
      const options = { workflowId, taskQueue: 'bench-bare', args: [], requestEagerStart: true };
      const start = () => client.workflow.start('bareTask', options);
      let handle: Awaited<ReturnType<typeof start>> | undefined;
      samples.push(await timed(async () => (handle = await start())));
      await handle?.result();
    }
  });
  return summarise(samples.slice(10));
}

async function rawInsert({ baton, alone }: World): Promise<Summary> {
  const database = await connectDatabase(baton.fresh.url, 1);
  const insert = database.em.fork();
  await insert.execute('create table bench_raw (id uuid primary key, body text)');
  const samples: number[] = [];
  for (let number = 0; number < alone + 10; number += 1) {
    const values = [randomUUID(), 'x'.repeat(500)];
    samples.push(await timed(() => insert.execute('insert into bench_raw values (?, ?)', values)));
  }
  await database.close();
  return summarise(samples.slice(10));
}

const over =
  ({ client }: World) =>
  (id: string) =>
    client.workflow.getHandle(id).result();
const sizes = ({ alone, together }: World) => ({
  practice: Math.min(20, alone),
  alone,
  together,
  submitters: SUBMITTERS,
});

async function plain(world: World): Promise<TaskLoad> {
  const { baton, receiver, client } = world;
  const worker = await baton.start('plain-worker', 'bench/support/plain-worker.ts', []);
  const submit = async () => {
    const id = randomUUID();
    const args = [{ id, url: receiver.url }];
    await client.workflow.start('plainTask', { workflowId: id, taskQueue: PLAIN_QUEUE, args });
    return id;
  };
  try {
    return await loadTasks({ submit, ended: over(world), receiver, database: baton.fresh.url }, sizes(world));
  } finally {
    await worker.stop();
  }
}

/** `name` tells this run's processes from those of another one. */
async function ours(name: string, world: World, rehearsal: object): Promise<TaskLoad & { events: number }> {
  const { baton, receiver, client } = world;
  const api = await baton.start(`api${name}`, 'src/api/server.ts');
  const worker = await baton.start(`task-worker${name}`, 'workers/task-worker.ts');
  const dispatcher = new Agent({ connections: SUBMITTERS });
  const { api_key: key, project_id: projectId } = baton.installation;
  const place = { url: baton.url, key, projectId, callbackUrl: receiver.url };
  let last = '';
  const send = submitter(place, rehearsal, dispatcher);
  const submit = async () => (last = await send());
  try {
    const load = { submit, ended: over(world), receiver, database: baton.fresh.url };
    const result = await loadTasks(load, sizes(world));
    const { historyLength } = await client.workflow.getHandle(last).describe();
    return { ...result, events: historyLength };
  } finally {
    await dispatcher.close();
    await api.stop();
    await worker.stop();
  }
}

const cpuMs = ({ used }: TaskLoad, { together }: Pick<World, 'together'>) =>
  (1_000 * total(used.cpu)) / together;

function timesOf(rows: FigureTable['rows']): FigureTable {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 1 });
  return {
    id: 'times',
    title: `What a task takes; tasks a second by ${SUBMITTERS} submitters`,
    columns: [
      ms('submit p50'),
      ms('submit p95'),
      ms('submit → callback p50'),
      ms('submit → callback p95'),
      { title: 'tasks a second', unit: '/s', digits: 1 },
      ms('CPU of a task'),
    ],
    rows,
  };
}

function ratiosOf(bare: Summary, byHand: TaskLoad, baton: TaskLoad, world: World): Ratio[] {
  const atMost = (value: number) => ({ wanted: { at_most: value } });
  const ways = [baton.toCallback, byHand.toCallback] as const;
  return [
    ratio('submit ÷ bare eager start, p50', baton.submit.p50 / bare.p50, atMost(1.5)),
    ratio('submit ÷ bare eager start, p95', baton.submit.p95 / bare.p95),
    ratio('submit → callback ÷ plain, p50', ways[0].p50 / ways[1].p50, atMost(1)),
    ratio('submit → callback ÷ plain, p95', ways[0].p95 / ways[1].p95),
    ratio('tasks a second ÷ plain', baton.perSecond / byHand.perSecond, { wanted: { at_least: 1 } }),
    ratio('CPU of a task ÷ plain', cpuMs(baton, world) / cpuMs(byHand, world)),
  ];
}

await runBench({ name: 'tasks', title: 'Tasks' }, async ({ size, quick, profiles, say }): Promise<Found> => {
  const alone = size ?? (quick ? 8 : 200);
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  installRuntime(pino({ level: 'warn' }, pino.destination(2)));
  const engine = await connectTemporal();
  const baton = await prepareBaton(profiles);
  const receiver = await startCallbackReceiver(services().tls);
  const world: World = { ...engine, baton, receiver, alone, together: alone * 2 };
  const slow: World = {
    ...world,
    alone: Math.ceil(alone / SLOW_SHARE),
    together: Math.ceil(world.together / SLOW_SHARE),
  };

  say('raw INSERT');
  const insert = await rawInsert(world);
  say('bare eager workflow');
  const bare = await bareEager(world);
  say('plain hand-written workflow');
  const byHand = await plain(world);
  say('Baton, instant steps');
  const instant = await ours('', world, REHEARSAL);
  say('Baton, each step an activity on a task queue');
  const queued = await ours('-queued', slow, { ...REHEARSAL, step_ms: 250 });

  const none = [null, null, null, null];
  const load = (title: string, { submit, toCallback, perSecond, ...rest }: TaskLoad, of: World) =>
    row(title, [
      submit.p50,
      submit.p95,
      toCallback.p50,
      toCallback.p95,
      perSecond,
      cpuMs({ submit, toCallback, perSecond, ...rest }, of),
    ]);
  receiver.close();
  await engine.connection.close();
  await baton.fresh.drop();
  return {
    tables: [
      timesOf([
        row('raw INSERT', [insert.p50, insert.p95, ...none]),
        row('bare eager workflow', [bare.p50, bare.p95, ...none]),
        load('plain workflow by hand', byHand, world),
        load('Baton, three steps', instant, world),
        load('Baton, steps of 250 ms on a task queue', queued, slow),
      ]),
      ...costTables('1,000 tasks', instant.used, world.together, 1_000),
    ],
    ratios: [
      ...ratiosOf(bare, byHand, instant, world),
      ratio('events in the history of a task', instant.events, { digits: 0 }),
      ratio('the same with steps on a queue', queued.events, { digits: 0 }),
    ],
  };
});
