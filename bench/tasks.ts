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
import { ratio, row, type MetricTable, type Ratio } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import {
  measureInTurns,
  measureConcurrently,
  createSubmit,
  type TaskKind,
  type TaskLoad,
  type TaskTimes,
} from './support/task-load.ts';

/*
 * `npm run bench tasks [-- <runs>] [--quick] [--profile]` measures the cost of a task, compared with a bare eager workflow,
 * a plain hand-written one and a raw INSERT in the same run on the same server. Only the ratios can be compared between
 * machines.
 */
const SUBMITTERS = 50;
const REHEARSAL = { steps: 3 };
/** With steps of 250 ms, one after another, a task takes a second. So there are fewer of them. */
const SLOW_SHARE = 4;

type TemporalClients = Awaited<ReturnType<typeof connectTemporal>>;
type Setup = TemporalClients & {
  baton: BatonUnderTest;
  receiver: CallbackReceiver;
  sequential: number;
  concurrent: number;
};
/** A kind of task with its processes running. `close` stops them. */
type RunningTaskKind = TaskKind & { close(): Promise<void> };

const BARE_QUEUE = 'bench-bare';

/** Starts the smallest possible workflow, with its worker in this process. */
async function startBareEager({ connection, client, namespace }: Setup): Promise<RunningTaskKind> {
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
    waitForEnd: (id) => client.workflow.getHandle(id).result(),
    async close() {
      worker.shutdown();
      await stopped;
    },
  };
}

async function startRawInsert({ baton }: Setup): Promise<RunningTaskKind> {
  const database = await connectDatabase(baton.fresh.url, 1);
  const insert = database.em.fork();
  await insert.execute('create table bench_raw (id uuid primary key, body text)');
  return {
    async submit() {
      const id = randomUUID();
      await insert.execute('insert into bench_raw values (?, ?)', [id, 'x'.repeat(500)]);
      return id;
    },
    waitForEnd: async () => {},
    close: () => database.close(),
  };
}

/** `name`: a suffix of the processes' names. */
async function startPlain(name: string, { baton, receiver, client }: Setup): Promise<RunningTaskKind> {
  const worker = await baton.start(`plain-worker${name}`, 'bench/support/plain-worker.ts', []);
  return {
    receiver,
    async submit() {
      const id = randomUUID();
      const args = [{ id, url: receiver.url }];
      await client.workflow.start('plainTask', { workflowId: id, taskQueue: PLAIN_QUEUE, args });
      return id;
    },
    waitForEnd: (id) => client.workflow.getHandle(id).result(),
    close: async () => void (await worker.stop()),
  };
}

/** `name`: a suffix of the processes' names. `events` returns the length of the last task's history. */
async function startBaton(
  name: string,
  { baton, receiver, client }: Setup,
  rehearsal: object,
): Promise<RunningTaskKind & { events(): Promise<number> }> {
  const api = await baton.start(`api${name}`, 'src/api/server.ts');
  const worker = await baton.start(`task-worker${name}`, 'workers/task-worker.ts');
  const dispatcher = new Agent({ connections: SUBMITTERS });
  const { api_key: key, project_id: projectId } = baton.installation;
  const target = { url: baton.url, key, projectId, callbackUrl: receiver.url };
  let last = '';
  const send = createSubmit(target, rehearsal, dispatcher);
  return {
    receiver,
    submit: async () => (last = await send()),
    waitForEnd: (id) => client.workflow.getHandle(id).result(),
    events: async () => (await client.workflow.getHandle(last).describe()).historyLength,
    async close() {
      await dispatcher.close();
      await api.stop();
      await worker.stop();
    },
  };
}

/** Measures tasks one after another, each kind in turn. */
async function measureSequentially(setup: Setup) {
  const kinds = [
    await startRawInsert(setup),
    await startBareEager(setup),
    await startPlain('-alone', setup),
    await startBaton('-alone', setup, REHEARSAL),
  ] as const;
  const times = await measureInTurns(kinds, {
    practice: Math.min(20, setup.sequential),
    times: setup.sequential,
  });
  for (const kind of kinds) await kind.close();
  const [insert, bare, byHand, instant] = times as [TaskTimes, TaskTimes, TaskTimes, TaskTimes];
  return { insert, bare, byHand, instant };
}

/** Measures many submitters. Half as many tasks come before as a warm-up, since new processes compile their code first. */
async function measureLoad(kind: RunningTaskKind, { baton, concurrent }: Setup): Promise<TaskLoad> {
  const database = baton.fresh.url;
  await measureConcurrently(kind, { times: Math.ceil(concurrent / 2), submitters: SUBMITTERS / 5, database });
  return await measureConcurrently(kind, { times: concurrent, submitters: SUBMITTERS, database });
}

const cpuMs = ({ costs }: TaskLoad, { concurrent }: Pick<Setup, 'concurrent'>) =>
  (1_000 * total(costs.cpu)) / concurrent;

function createTimesTable(rows: MetricTable['rows']): MetricTable {
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

function createTimesRow(title: string, { submit, toCallback }: TaskTimes, load: TaskLoad | null, of: Setup) {
  return row(title, [
    submit.p50,
    submit.p95,
    toCallback?.p50 ?? null,
    toCallback?.p95 ?? null,
    load?.perSecond ?? null,
    load && cpuMs(load, of),
  ]);
}

function createRatios(
  { bare, byHand, instant }: Record<'bare' | 'byHand' | 'instant', TaskTimes>,
  loads: { byHand: TaskLoad; instant: TaskLoad },
  setup: Setup,
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
    ratio('CPU of a task ÷ plain', cpuMs(loads.instant, setup) / cpuMs(loads.byHand, setup)),
  ];
}

await runBench(
  { name: 'tasks', title: 'Tasks' },
  async ({ size, quick, profiles, log }): Promise<Measurements> => {
    const sequential = size ?? (quick ? 8 : 200);
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    installRuntime(pino({ level: 'warn' }, pino.destination(2)));
    const temporal = await connectTemporal();
    const baton = await prepareBaton(profiles);
    const receiver = await startCallbackReceiver(services().tls);
    const setup: Setup = { ...temporal, baton, receiver, sequential, concurrent: sequential * 2 };
    const slow: Setup = { ...setup, concurrent: Math.ceil(setup.concurrent / SLOW_SHARE) };

    log('one after another: raw INSERT, bare eager workflow, plain hand-written workflow, Baton');
    const times = await measureSequentially(setup);
    log('plain hand-written workflow by many');
    const plainKind = await startPlain('', setup);
    const byHand = await measureLoad(plainKind, setup);
    await plainKind.close();
    log('Baton by many, instant steps');
    const instantKind = await startBaton('', setup, REHEARSAL);
    const instant = await measureLoad(instantKind, setup);
    const instantEvents = await instantKind.events();
    await instantKind.close();
    log('Baton, each step an activity on a task queue');
    const queuedKind = await startBaton('-queued', slow, { ...REHEARSAL, step_ms: 250 });
    const count = Math.ceil(sequential / SLOW_SHARE);
    const [queuedTimes] = await measureInTurns([queuedKind], { practice: Math.min(5, count), times: count });
    const queued = await measureLoad(queuedKind, slow);
    const queuedEvents = await queuedKind.events();
    await queuedKind.close();

    receiver.close();
    await temporal.connection.close();
    await baton.fresh.drop();
    return {
      tables: [
        createTimesTable([
          createTimesRow('raw INSERT', times.insert, null, setup),
          createTimesRow('bare eager workflow', times.bare, null, setup),
          createTimesRow('plain workflow by hand', times.byHand, byHand, setup),
          createTimesRow('Baton, three steps', times.instant, instant, setup),
          ...(queuedTimes
            ? [createTimesRow('Baton, steps of 250 ms on a task queue', queuedTimes, queued, slow)]
            : []),
        ]),
        ...costTables('1,000 tasks', instant.costs, setup.concurrent, 1_000),
      ],
      ratios: [
        ...createRatios(times, { byHand, instant }, setup),
        ratio('events in the history of a task', instantEvents, { digits: 0 }),
        ratio('the same with steps on a queue', queuedEvents, { digits: 0 }),
      ],
    };
  },
);
