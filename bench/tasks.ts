import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { Agent } from 'undici';
import { connectDatabase } from '../src/database/connect.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { startCallbackReceiver, type CallbackReceiver } from './support/callback-receiver.ts';
import { costTables } from './support/costs.ts';
import { total } from './support/parts.ts';
import { PLAIN_QUEUE } from './support/plain-worker.ts';
import { ratio, row, type FigureTable, type Ratio } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';
import {
  inTurns,
  sideBySideLoad,
  submitter,
  type TaskKind,
  type TaskLoad,
  type TaskTimes,
} from './support/task-load.ts';

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
/** A kind of task with all that it needs running; `close` ends that. */
type Ready = TaskKind & { close(): Promise<void> };

const BARE_QUEUE = 'bench-bare';

/** Starts of the least workflow there can be, whose worker is in this process. */
async function bareEager({ connection, client, namespace }: World): Promise<Ready> {
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: BARE_QUEUE,
    workflowsPath: join(import.meta.dirname, 'support/plain-workflow.ts'),
    maxConcurrentActivityTaskExecutions: 1,
  });
  const stopped = worker.run();
  return {
    async submit() {
      const workflowId = randomUUID();
      const options = { workflowId, taskQueue: BARE_QUEUE, args: [], requestEagerStart: true };
      await client.workflow.start('bareTask', options);
      return workflowId;
    },
    ended: (id) => client.workflow.getHandle(id).result(),
    async close() {
      worker.shutdown();
      await stopped;
    },
  };
}

async function rawInsert({ baton }: World): Promise<Ready> {
  const database = await connectDatabase(baton.fresh.url, 1);
  const insert = database.em.fork();
  await insert.execute('create table bench_raw (id uuid primary key, body text)');
  return {
    async submit() {
      const id = randomUUID();
      await insert.execute('insert into bench_raw values (?, ?)', [id, 'x'.repeat(500)]);
      return id;
    },
    ended: async () => {},
    close: () => database.close(),
  };
}

/** `name` tells this one's processes from those of another one. */
async function plain(name: string, { baton, receiver, client }: World): Promise<Ready> {
  const worker = await baton.start(`plain-worker${name}`, 'bench/support/plain-worker.ts', []);
  return {
    receiver,
    async submit() {
      const id = randomUUID();
      const args = [{ id, url: receiver.url }];
      await client.workflow.start('plainTask', { workflowId: id, taskQueue: PLAIN_QUEUE, args });
      return id;
    },
    ended: (id) => client.workflow.getHandle(id).result(),
    close: async () => void (await worker.stop()),
  };
}

/** `name` tells this one's processes from those of another one; `events` is how many the last task has in its history. */
async function ours(
  name: string,
  { baton, receiver, client }: World,
  rehearsal: object,
): Promise<Ready & { events(): Promise<number> }> {
  const api = await baton.start(`api${name}`, 'src/api/server.ts');
  const worker = await baton.start(`task-worker${name}`, 'workers/task-worker.ts');
  const dispatcher = new Agent({ connections: SUBMITTERS });
  const { api_key: key, project_id: projectId } = baton.installation;
  const place = { url: baton.url, key, projectId, callbackUrl: receiver.url };
  let last = '';
  const send = submitter(place, rehearsal, dispatcher);
  return {
    receiver,
    submit: async () => (last = await send()),
    ended: (id) => client.workflow.getHandle(id).result(),
    events: async () => (await client.workflow.getHandle(last).describe()).historyLength,
    async close() {
      await dispatcher.close();
      await api.stop();
      await worker.stop();
    },
  };
}

/** One after another, in turns. */
async function measureAlone(world: World) {
  const kinds = [
    await rawInsert(world),
    await bareEager(world),
    await plain('-alone', world),
    await ours('-alone', world, REHEARSAL),
  ] as const;
  const times = await inTurns(kinds, { practice: Math.min(20, world.alone), times: world.alone });
  for (const kind of kinds) await kind.close();
  const [insert, bare, byHand, instant] = times as [TaskTimes, TaskTimes, TaskTimes, TaskTimes];
  return { insert, bare, byHand, instant };
}

/** By many submitters. Half as many come before for practice: new processes have their code still to compile. */
async function measureTogether(kind: Ready, { baton, together }: World): Promise<TaskLoad> {
  const database = baton.fresh.url;
  await sideBySideLoad(kind, { times: Math.ceil(together / 2), submitters: SUBMITTERS / 5, database });
  return await sideBySideLoad(kind, { times: together, submitters: SUBMITTERS, database });
}

const cpuMs = ({ used }: TaskLoad, { together }: Pick<World, 'together'>) =>
  (1_000 * total(used.cpu)) / together;

function timesOf(rows: FigureTable['rows']): FigureTable {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 1 });
  return {
    id: 'times',
    title: `What a task takes, one after another; tasks a second by ${SUBMITTERS} submitters`,
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

function timesRow(title: string, { submit, toCallback }: TaskTimes, load: TaskLoad | null, of: World) {
  return row(title, [
    submit.p50,
    submit.p95,
    toCallback?.p50 ?? null,
    toCallback?.p95 ?? null,
    load?.perSecond ?? null,
    load && cpuMs(load, of),
  ]);
}

function ratiosOf(
  { bare, byHand, instant }: Record<'bare' | 'byHand' | 'instant', TaskTimes>,
  loads: { byHand: TaskLoad; instant: TaskLoad },
  world: World,
): Ratio[] {
  const atMost = (value: number) => ({ wanted: { at_most: value } });
  const none = Number.NaN;
  const [own, other] = [instant.toCallback, byHand.toCallback];
  const perSecond = loads.instant.perSecond / loads.byHand.perSecond;
  return [
    ratio('submit ÷ bare eager start, p50', instant.submit.p50 / bare.submit.p50, atMost(1.5)),
    ratio('submit ÷ bare eager start, p95', instant.submit.p95 / bare.submit.p95),
    ratio('submit → callback ÷ plain, p50', (own?.p50 ?? none) / (other?.p50 ?? none), atMost(1)),
    ratio('submit → callback ÷ plain, p95', (own?.p95 ?? none) / (other?.p95 ?? none)),
    ratio('tasks a second ÷ plain', perSecond, { wanted: { at_least: 1 } }),
    ratio('CPU of a task ÷ plain', cpuMs(loads.instant, world) / cpuMs(loads.byHand, world)),
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
  const slow: World = { ...world, together: Math.ceil(world.together / SLOW_SHARE) };

  say('one after another: raw INSERT, bare eager workflow, plain hand-written workflow, Baton');
  const times = await measureAlone(world);
  say('plain hand-written workflow by many');
  const plainKind = await plain('', world);
  const byHand = await measureTogether(plainKind, world);
  await plainKind.close();
  say('Baton by many, instant steps');
  const instantKind = await ours('', world, REHEARSAL);
  const instant = await measureTogether(instantKind, world);
  const instantEvents = await instantKind.events();
  await instantKind.close();
  say('Baton, each step an activity on a task queue');
  const queuedKind = await ours('-queued', slow, { ...REHEARSAL, step_ms: 250 });
  const count = Math.ceil(alone / SLOW_SHARE);
  const [queuedTimes] = await inTurns([queuedKind], { practice: Math.min(5, count), times: count });
  const queued = await measureTogether(queuedKind, slow);
  const queuedEvents = await queuedKind.events();
  await queuedKind.close();

  receiver.close();
  await engine.connection.close();
  await baton.fresh.drop();
  return {
    tables: [
      timesOf([
        timesRow('raw INSERT', times.insert, null, world),
        timesRow('bare eager workflow', times.bare, null, world),
        timesRow('plain workflow by hand', times.byHand, byHand, world),
        timesRow('Baton, three steps', times.instant, instant, world),
        ...(queuedTimes
          ? [timesRow('Baton, steps of 250 ms on a task queue', queuedTimes, queued, slow)]
          : []),
      ]),
      ...costTables('1,000 tasks', instant.used, world.together, 1_000),
    ],
    ratios: [
      ...ratiosOf(times, { byHand, instant }, world),
      ratio('events in the history of a task', instantEvents, { digits: 0 }),
      ratio('the same with steps on a queue', queuedEvents, { digits: 0 }),
    ],
  };
});
