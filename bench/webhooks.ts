import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { Agent } from 'undici';
import { sampleData } from '../src/domain/webhooks/event-samples.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { barePosts, bareWorkflows } from './support/bare-deliveries.ts';
import { prepareBaton } from './support/baton.ts';
import { costTables, measured } from './support/costs.ts';
import { sideBySide, summarise, type Summary } from './support/figures.ts';
import { memoryByPart, total, type ByPart } from './support/parts.ts';
import { ratio, row, type FigureTable, type Ratio } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';
import {
  burst,
  eventClient,
  startBenchReceiver,
  waysOf,
  type BenchReceiver,
  type Burst,
  type EventClient,
  type Published,
} from './support/webhook-load.ts';

/*
 * `npm run bench webhooks [-- <events>] [--quick] [--profile]`: from publishing an event to its arrival at a receiver in
 * another process, beside bare signed POSTs from one process to the same receiver and bare workflows, all in this run.
 */
const PUBLISHERS = 50;
const SLOW_EVERY_MS = 50;
const WIDE = 10;

type World = { client: EventClient; receiver: BenchReceiver };
type Pace = { arrival: Summary; answer: Summary };

/** Events one by one at 20 a second, whatever the answers take. */
async function atRest(
  { client, receiver }: World,
  { count, path, event }: { count: number; path: string; event: 'issue.created' | 'user.joined' },
): Promise<Pace> {
  const content = JSON.stringify(sampleData(event));
  const under: Promise<Published>[] = [];
  const begun = performance.now();
  for (let number = 0; number < count; number += 1) {
    under.push(client.publish(event, content));
    await wait(Math.max(0, begun + (number + 1) * SLOW_EVERY_MS - performance.now()));
  }
  const published = await Promise.all(under);
  const arrivals = await receiver.arrived(count, path);
  return { arrival: waysOf(published, arrivals), answer: summarise(published.map(({ took }) => took)) };
}

async function rested(world: World, count: number): Promise<Pace> {
  const first = await world.client.webhook('/rest');
  const practice = Math.min(40, count);
  for (let number = 0; number < practice; number += 1) await world.client.publish();
  await world.receiver.arrived(practice, '/rest');
  await world.receiver.forget();
  const rest = await atRest(world, { count, path: '/rest', event: 'issue.created' });
  await world.client.drop(first);
  return rest;
}

/** Deliveries a second where each event has ten webhooks. */
async function manyWebhooks({ client, receiver }: World, events: number): Promise<number> {
  const paths = Array.from({ length: WIDE }, (_, number) => `/wide${number}`);
  const webhooks = await Promise.all(paths.map((path) => client.webhook(path)));
  const begun = performance.timeOrigin + performance.now();
  await sideBySide(events, PUBLISHERS, async () => void (await client.publish()));
  let last = 0;
  for (const path of paths) {
    for (const [, , at] of await receiver.arrived(events, path)) last = Math.max(last, at);
  }
  await Promise.all(webhooks.map((id) => client.drop(id)));
  return (1_000 * events * WIDE) / (last - begun);
}

/** A good endpoint alone, and then beside events for one that never answers. */
async function neighbours(world: World, { count, hanging }: { count: number; hanging: number }) {
  const { client, receiver } = world;
  await receiver.forget();
  const good = await client.webhook('/good', 'user.joined');
  const alone = await atRest(world, { count, path: '/good', event: 'user.joined' });
  await receiver.forget();
  const hangs = await client.webhook('/hang', 'sprint.started');
  const data = JSON.stringify(sampleData('sprint.started'));
  await sideBySide(hanging, PUBLISHERS, async () => void (await client.publish('sprint.started', data)));
  const beside = await atRest(world, { count, path: '/good', event: 'user.joined' });
  await Promise.all([client.drop(good), client.drop(hangs)]);
  return { alone, beside };
}

type Figures = {
  events: number;
  wideEvents: number;
  hanging: number;
  rest: Pace;
  one: Burst;
  wideRate: number;
  alone: Pace;
  beside: Pace;
  bareRate: number;
  workflowRate: number;
  memory: ByPart;
  cpuPerEvent: number;
};

function timesOf(found: Figures): FigureTable {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 1 });
  const way = ({ p50, p95, p99 }: Summary, rate: number | null = null) => [p50, p95, p99, rate];
  const rate = (value: number) => [null, null, null, value];
  return {
    id: 'times',
    title: 'What a delivery takes',
    columns: [ms('p50'), ms('p95'), ms('p99'), { title: 'rate', unit: '/s', digits: 0 }],
    rows: [
      row('20 events a second: publish → arrival', way(found.rest.arrival)),
      row('20 events a second: the answer', way(found.rest.answer)),
      row(`${found.events} events, one webhook: accepted`, rate(found.one.acceptedPerSecond)),
      row(`${found.events} events, one webhook: delivered`, way(found.one.way, found.one.arrivedPerSecond)),
      row(`${found.wideEvents} events, ${WIDE} webhooks each: deliveries`, rate(found.wideRate)),
      row('a good endpoint alone, 20/s', way(found.alone.arrival)),
      row(`the same beside ${found.hanging} events for one that hangs`, way(found.beside.arrival)),
      row('bare signed POSTs of one process', rate(found.bareRate)),
      row(`bare workflows, ${PUBLISHERS} at once`, rate(found.workflowRate)),
    ],
  };
}

function ratiosOf({ rest, one, wideRate, alone, beside, bareRate, memory, cpuPerEvent }: Figures): Ratio[] {
  const bare = { digits: 3 };
  const ms = { unit: 'ms', digits: 1 };
  return [
    ratio('one webhook ÷ bare POSTs', one.arrivedPerSecond / bareRate, {
      ...bare,
      wanted: { at_least: 0.08 },
    }),
    ratio(`${WIDE} webhooks ÷ bare POSTs`, wideRate / bareRate, { ...bare, wanted: { at_least: 0.17 } }),
    ratio("a neighbour's p95 ÷ alone", beside.arrival.p95 / alone.arrival.p95, { wanted: { at_most: 1.5 } }),
    ratio('at rest, p50', rest.arrival.p50, { ...ms, wanted: { at_most: 20 } }),
    ratio('at rest, p95', rest.arrival.p95, { ...ms, wanted: { at_most: 35 } }),
    ratio('CPU of an event, one webhook', cpuPerEvent, { unit: 'µs', digits: 0 }),
    ratio('memory of all processes', total(memory), { unit: 'MB', digits: 0, wanted: { at_most: 700 } }),
  ];
}

function memoryTable(memory: ByPart): FigureTable {
  return {
    id: 'memory',
    title: 'Memory after the load, proportional shares',
    columns: [{ title: 'memory', unit: 'MB', digits: 0 }],
    rows: [...[...memory].map(([part, mb]) => row(part, [mb])), row('all', [total(memory)])],
  };
}

await runBench(
  { name: 'webhooks', title: 'Webhooks' },
  async ({ size, quick, profiles, say }): Promise<Found> => {
    const events = size ?? (quick ? 200 : 5_000);
    const [slowEvents, wideEvents, hanging] = quick ? [20, 30, 20] : [300, 500, 200];
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    installRuntime(pino({ level: 'warn' }, pino.destination(2)));
    const engine = await connectTemporal();
    const baton = await prepareBaton(profiles);
    const receiver = await startBenchReceiver();
    const dispatcher = new Agent({ connections: 64 });
    const api = await baton.start('api', 'src/api/server.ts');
    const worker = await baton.start('delivery-worker', 'workers/delivery-worker.ts');
    const place = { url: baton.url, key: baton.installation.api_key, receiver: receiver.url };
    const client = eventClient(place, dispatcher);
    const world = { client, receiver };

    say('at rest: 20 events a second');
    const rest = await rested(world, slowEvents);
    say(`${events} events by ${PUBLISHERS} publishers, one webhook`);
    const webhook = await client.webhook('/one');
    let one = {} as Burst;
    const used = await measured(baton.fresh.url, async () => {
      one = await burst(client, receiver, { events, publishers: PUBLISHERS, path: '/one' });
    });
    await client.drop(webhook);
    say(`${wideEvents} events, ${WIDE} webhooks each`);
    const wideRate = await manyWebhooks(world, wideEvents);
    say('a good endpoint alone, then beside one that hangs');
    const { alone, beside } = await neighbours(world, { count: slowEvents / 2, hanging });
    const memory = memoryByPart();
    say('bare signed POSTs, and bare workflows');
    const bareRate = await barePosts(receiver.url, quick ? 2_000 : 20_000);
    const workflowRate = await bareWorkflows(engine, { workflows: quick ? 50 : 400, atOnce: PUBLISHERS });

    receiver.end();
    await dispatcher.close();
    await api.stop();
    await worker.stop();
    await engine.connection.close();
    await baton.fresh.drop();
    const cpuPerEvent = (1_000_000 * total(used.cpu)) / events;
    const measures = {
      events,
      wideEvents,
      hanging,
      rest,
      one,
      wideRate,
      alone,
      beside,
      bareRate,
      workflowRate,
    };
    const found: Figures = { ...measures, memory, cpuPerEvent };
    return {
      tables: [
        timesOf(found),
        ...costTables('a million deliveries', used, events, 1_000_000),
        memoryTable(memory),
      ],
      ratios: ratiosOf(found),
    };
  },
);
