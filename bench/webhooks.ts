import { pino } from 'pino';
import { Agent } from 'undici';
import { sampleData } from '../src/domain/webhooks/event-samples.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { measureBarePosts, measureBareStarts, measureBareWorkflows } from './support/bare-deliveries.ts';
import { prepareBaton } from './support/baton.ts';
import { costTables, measureCosts, type Costs } from './support/costs.ts';
import { runConcurrently, type Summary } from './support/measure.ts';
import { memoryByPart, total, type ByPart } from './support/parts.ts';
import { ratio, row, type MetricTable, type Ratio } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import {
  publishBurst,
  publishSteadily,
  createEventClient,
  startBenchReceiver,
  type BenchReceiver,
  type Burst,
  type EventClient,
  type Latency,
} from './support/webhook-load.ts';

/*
 * `npm run bench webhooks [-- <events>] [--quick] [--profile]` measures the time from publishing an event to its arrival at
 * a receiver in another process, compared with bare signed POSTs to the same receiver and bare workflows in the same
 * run. Bursts are measured twice: by new processes, which use half of their CPU to compile their code, and warm, like the
 * bare POSTs.
 */
const PUBLISHERS = 50;
const WEBHOOK_COUNT = 10;

/** `database`: the URL of the service's database. */
type Setup = { client: EventClient; receiver: BenchReceiver; database: string };

/** A burst to one webhook, and one to ten. `events` and `wideEvents`: how many are published. */
type Bursts = {
  events: number;
  wideEvents: number;
  one: Burst;
  costs: Costs;
  wideRate: number;
  wideCosts: Costs;
};

async function measureWarmedUp(setup: Setup, count: number): Promise<Latency> {
  const first = await setup.client.createWebhook('/rest');
  const practice = Math.min(40, count);
  for (let number = 0; number < practice; number += 1) await setup.client.publish();
  await setup.receiver.waitForRequests(practice, '/rest');
  await setup.receiver.clear();
  const rest = await publishSteadily(setup.client, setup.receiver, {
    count,
    path: '/rest',
    event: 'issue.created',
  });
  await setup.client.deleteWebhook(first);
  return rest;
}

/** Publishes events that each have one webhook. */
async function measureOneWebhook({ client, receiver }: Setup, events: number): Promise<Burst> {
  await receiver.clear();
  const webhook = await client.createWebhook('/one');
  const burst = await publishBurst(client, receiver, { events, publishers: PUBLISHERS, path: '/one' });
  await client.deleteWebhook(webhook);
  return burst;
}

/** Returns the deliveries a second if each event has ten webhooks. */
async function measureManyWebhooks({ client, receiver }: Setup, events: number): Promise<number> {
  await receiver.clear();
  const paths = Array.from({ length: WEBHOOK_COUNT }, (_, number) => `/wide${number}`);
  const webhooks = await Promise.all(paths.map((path) => client.createWebhook(path)));
  const begun = performance.timeOrigin + performance.now();
  await runConcurrently(events, PUBLISHERS, async () => void (await client.publish()));
  let last = 0;
  for (const path of paths) {
    for (const [, , at] of await receiver.waitForRequests(events, path)) last = Math.max(last, at);
  }
  await Promise.all(webhooks.map((id) => client.deleteWebhook(id)));
  return (1_000 * events * WEBHOOK_COUNT) / (last - begun);
}

async function measureBursts(
  setup: Setup,
  { events, wideEvents }: { events: number; wideEvents: number },
): Promise<Bursts> {
  const one = await measureCosts(setup.database, () => measureOneWebhook(setup, events));
  const wide = await measureCosts(setup.database, () => measureManyWebhooks(setup, wideEvents));
  return {
    events,
    wideEvents,
    one: one.result,
    costs: one.costs,
    wideRate: wide.result,
    wideCosts: wide.costs,
  };
}

/** Returns the microseconds of CPU of an event with one webhook, and of a delivery of one with ten. */
function cpuOf({ events, wideEvents, costs, wideCosts }: Bursts): { event: number; delivery: number } {
  return {
    event: (1_000_000 * total(costs.cpu)) / events,
    delivery: (1_000_000 * total(wideCosts.cpu)) / (wideEvents * WEBHOOK_COUNT),
  };
}

/** Measures a good endpoint alone, then together with events for an endpoint that never responds. */
async function measureNeighbours(
  { client, receiver }: Setup,
  { count, hanging }: { count: number; hanging: number },
) {
  await receiver.clear();
  const good = await client.createWebhook('/good', 'user.joined');
  const alone = await publishSteadily(client, receiver, { count, path: '/good', event: 'user.joined' });
  await receiver.clear();
  const hangs = await client.createWebhook('/hang', 'sprint.started');
  const data = JSON.stringify(sampleData('sprint.started'));
  await runConcurrently(hanging, PUBLISHERS, async () => void (await client.publish('sprint.started', data)));
  const beside = await publishSteadily(client, receiver, { count, path: '/good', event: 'user.joined' });
  await Promise.all([client.deleteWebhook(good), client.deleteWebhook(hangs)]);
  return { alone, beside };
}

type Metrics = {
  hanging: number;
  rest: Latency;
  bareStarts: Summary;
  fresh: Bursts;
  warm: Bursts;
  alone: Latency;
  beside: Latency;
  bareRate: number;
  workflowRate: number;
  memory: ByPart;
};

function createTimesTable(metrics: Metrics): MetricTable {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 1 });
  const way = ({ p50, p95, p99 }: Summary, rate: number | null = null) => [p50, p95, p99, rate];
  const rate = (value: number) => [null, null, null, value];
  const bursts = (title: string, { events, wideEvents, one, wideRate }: Bursts) => [
    row(`${title}: ${events} events, one webhook: accepted`, rate(one.acceptedPerSecond)),
    row(`${title}: ${events} events, one webhook: delivered`, way(one.deliveryTime, one.arrivedPerSecond)),
    row(`${title}: ${wideEvents} events, ${WEBHOOK_COUNT} webhooks each: deliveries`, rate(wideRate)),
  ];
  return {
    id: 'times',
    title: 'What a delivery takes',
    columns: [ms('p50'), ms('p95'), ms('p99'), { title: 'rate', unit: '/s', digits: 0 }],
    rows: [
      row('20 events a second: publish → arrival', way(metrics.rest.arrival)),
      row('20 events a second: the answer', way(metrics.rest.answer)),
      row('20 bare eager workflows a second: the start', way(metrics.bareStarts)),
      ...bursts('new processes', metrics.fresh),
      ...bursts('warm', metrics.warm),
      row('a good endpoint alone, 20/s', way(metrics.alone.arrival)),
      row(`the same with ${metrics.hanging} events for one that hangs`, way(metrics.beside.arrival)),
      row('bare signed POSTs of one process', rate(metrics.bareRate)),
      row(`bare workflows, ${PUBLISHERS} at once`, rate(metrics.workflowRate)),
    ],
  };
}

function createRatios({ rest, bareStarts, fresh, warm, alone, beside, bareRate, memory }: Metrics): Ratio[] {
  const bare = { digits: 3 };
  const ms = { unit: 'ms', digits: 1 };
  const us = { unit: 'µs', digits: 0 };
  return [
    ratio('one webhook ÷ bare POSTs, warm', warm.one.arrivedPerSecond / bareRate, {
      ...bare,
      wanted: { at_least: 0.12 },
    }),
    ratio(`${WEBHOOK_COUNT} webhooks ÷ bare POSTs, warm`, warm.wideRate / bareRate, {
      ...bare,
      wanted: { at_least: 0.35 },
    }),
    ratio('one webhook ÷ bare POSTs, new processes', fresh.one.arrivedPerSecond / bareRate, bare),
    ratio(`${WEBHOOK_COUNT} webhooks ÷ bare POSTs, new processes`, fresh.wideRate / bareRate, bare),
    ratio("a neighbour's p95 ÷ alone", beside.arrival.p95 / alone.arrival.p95, { wanted: { at_most: 1.5 } }),
    ratio('at rest, p50', rest.arrival.p50, { ...ms, wanted: { at_most: 20 } }),
    ratio('at rest, p95', rest.arrival.p95, { ...ms, wanted: { at_most: 35 } }),
    ratio('at rest, the answer ÷ bare eager start, p50', rest.answer.p50 / bareStarts.p50),
    ratio('at rest, arrival ÷ bare eager start, p50', rest.arrival.p50 / bareStarts.p50),
    ratio('at rest, arrival ÷ bare eager start, p95', rest.arrival.p95 / bareStarts.p95),
    ratio('CPU of an event, one webhook, warm', cpuOf(warm).event, us),
    ratio(`CPU of a delivery, ${WEBHOOK_COUNT} webhooks, warm`, cpuOf(warm).delivery, us),
    ratio('CPU of an event, one webhook, new processes', cpuOf(fresh).event, us),
    ratio(`CPU of a delivery, ${WEBHOOK_COUNT} webhooks, new processes`, cpuOf(fresh).delivery, us),
    ratio('memory of all processes', total(memory), { unit: 'MB', digits: 0, wanted: { at_most: 700 } }),
  ];
}

function createMemoryTable(memory: ByPart): MetricTable {
  return {
    id: 'memory',
    title: 'Memory after the load, proportional shares',
    columns: [{ title: 'memory', unit: 'MB', digits: 0 }],
    rows: [...[...memory].map(([part, mb]) => row(part, [mb])), row('all', [total(memory)])],
  };
}

await runBench(
  { name: 'webhooks', title: 'Webhooks' },
  async ({ size, quick, profiles, log }): Promise<Measurements> => {
    const events = size ?? (quick ? 200 : 5_000);
    const warmEvents = quick ? 200 : 10_000;
    const [slowEvents, wideEvents, hanging] = quick ? [20, 30, 20] : [300, 500, 200];
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    installRuntime(pino({ level: 'warn' }, pino.destination(2)));
    const temporal = await connectTemporal();
    const baton = await prepareBaton(profiles);
    const receiver = await startBenchReceiver();
    const dispatcher = new Agent({ connections: 64 });
    const api = await baton.start('api', 'src/api/server.ts');
    const worker = await baton.start('delivery-worker', 'workers/delivery-worker.ts');
    const target = { url: baton.url, key: baton.installation.api_key, receiver: receiver.url };
    const client = createEventClient(target, dispatcher);
    const setup = { client, receiver, database: baton.fresh.url };

    log('at rest: 20 events a second');
    const rest = await measureWarmedUp(setup, slowEvents);
    const bareStarts = await measureBareStarts(temporal, slowEvents);
    log(
      `${events} events by ${PUBLISHERS} publishers for one webhook, then ${wideEvents} for ${WEBHOOK_COUNT}`,
    );
    const fresh = await measureBursts(setup, { events, wideEvents });
    log('a good endpoint alone, then with one that hangs');
    const { alone, beside } = await measureNeighbours(setup, { count: slowEvents / 2, hanging });
    const memory = memoryByPart();
    const warmBursts = { events: warmEvents, wideEvents: warmEvents / WEBHOOK_COUNT };
    log(
      `${warmEvents} events for one webhook and ${warmEvents} deliveries to ${WEBHOOK_COUNT}, and again, measured`,
    );
    await measureBursts(setup, warmBursts);
    // Before and after what they are compared with: the speed of a machine changes within a minute.
    const measureBare = () => measureBarePosts(receiver.url, quick ? 1_000 : 15_000);
    const bareBefore = await measureBare();
    const warm = await measureBursts(setup, warmBursts);
    log('bare signed POSTs, and bare workflows');
    const bareRate = (bareBefore + (await measureBare())) / 2;
    const workflowRate = await measureBareWorkflows(temporal, {
      workflows: quick ? 50 : 400,
      atOnce: PUBLISHERS,
    });

    receiver.end();
    await dispatcher.close();
    await api.stop();
    await worker.stop();
    await temporal.connection.close();
    await baton.fresh.drop();
    const metrics: Metrics = {
      hanging,
      rest,
      bareStarts,
      fresh,
      warm,
      alone,
      beside,
      bareRate,
      workflowRate,
      memory,
    };
    return {
      tables: [
        createTimesTable(metrics),
        ...costTables('a million deliveries', warm.costs, warm.events, 1_000_000),
        createMemoryTable(memory),
      ],
      ratios: createRatios(metrics),
    };
  },
);
