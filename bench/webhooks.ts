import { fork } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { sampleData } from '../src/domain/event-samples.ts';
import { services } from '../test/support/services.ts';
import { connectTemporal, installRuntime } from '../workers/temporal.ts';
import { prepareBaton } from './support/baton.ts';
import { processesAround, sideBySide, summarise, table, timed } from './support/figures.ts';
import type { Arrival } from './support/webhook-receiver.ts';

/*
 * `npm run bench webhooks [-- <events>]`: from publishing an event to its arrival at a receiver in another process,
 * beside bare signed POSTs from one process to the same receiver and bare workflows, all in this run. With
 * BENCH_PROFILE=<folder> our processes leave CPU profiles there.
 */
const EVENTS = Number(process.argv[2] ?? 5_000);
const PUBLISHERS = 50;
const SLOW_EVENTS = 300;
const SLOW_EVERY_MS = 50;
const WIDE_EVENTS = 500;
const WIDE = 10;
const HANGING_EVENTS = 200;

const PARTS: readonly (readonly [string, RegExp])[] = [
  ['API', /src\/api\/server/],
  ['delivery worker', /workers\/delivery/],
  ['Temporal', /temporal.*start-dev/],
  ['PostgreSQL', /postgres/],
  ['receiver', /webhook-receiver/],
];

process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
installRuntime(pino({ level: 'warn' }, pino.destination(2)));
const { connection, client, namespace } = await connectTemporal();
const baton = await prepareBaton(process.env['BENCH_PROFILE']);
const say = (sentence: string) => process.stderr.write(`  … ${sentence}\n`);

const child = fork(join(import.meta.dirname, 'support/webhook-receiver.ts'));
const [{ port }] = (await once(child, 'message')) as [{ port: number }];
const receiver = `http://127.0.0.1:${port}`;
const seen: Arrival[] = [];
/** Takes over what has arrived since. */
async function look(): Promise<void> {
  child.send('look');
  const [{ arrivals }] = (await once(child, 'message')) as [{ arrivals: Arrival[] }];
  seen.push(...arrivals);
}
async function arrived(count: number, path: string): Promise<Arrival[]> {
  for (const until = Date.now() + 120_000; ; ) {
    await look();
    const those = seen.filter(([, to]) => to === path);
    if (those.length >= count) return those;
    if (Date.now() > until) throw new Error(`${those.length} of ${count} arrived at ${path}`);
    await wait(20);
  }
}

const dispatcher = new Agent({ connections: 64 });
const api = await baton.start('api', 'src/api/server.ts');
const worker = await baton.start('delivery-worker', 'workers/delivery-worker.ts');
const keyHeaders = { 'x-api-key': baton.installation.api_key, 'content-type': 'application/json' };
const data = JSON.stringify(sampleData('issue.created'));

async function call(method: 'POST' | 'DELETE', path: string, body?: string): Promise<string> {
  const options = { method, headers: keyHeaders, dispatcher, ...(body === undefined ? {} : { body }) };
  const answer = await request(`${baton.url}${path}`, options);
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${text}`);
  return text;
}
async function webhook(path: string, event = 'issue.created'): Promise<string> {
  const body = { name: path, url: `${receiver}${path}`, secret: 'bench', events: [{ event }] };
  return (JSON.parse(await call('POST', '/api/v1/webhooks', JSON.stringify(body))) as { id: string }).id;
}
const drop = (id: string) => call('DELETE', `/api/v1/webhooks/${id}`);

/** Publishes one event; answers its id, when it was sent and how long the answer took. */
async function publish(event = 'issue.created', content = data) {
  const id = `evt_${randomUUID()}`;
  const at = performance.timeOrigin + performance.now();
  const took = await timed(() =>
    call('POST', '/api/v1/events', `{"id":"${id}","event":"${event}","data":${content}}`),
  );
  return { id, at, took };
}
type Published = Awaited<ReturnType<typeof publish>>;

function waysOf(published: readonly Published[], arrivals: readonly Arrival[]) {
  const at = new Map(arrivals.map(([id, , time]) => [id, time]));
  return summarise(published.flatMap((one) => (at.has(one.id) ? [(at.get(one.id) ?? 0) - one.at] : [])));
}

/** Events one by one at 20 a second, whatever the answers take. */
async function atRest(count: number, path: string, event?: string, content?: string) {
  const under: Promise<Published>[] = [];
  const begun = performance.now();
  for (let number = 0; number < count; number += 1) {
    under.push(publish(event, content));
    await wait(Math.max(0, begun + (number + 1) * SLOW_EVERY_MS - performance.now()));
  }
  const published = await Promise.all(under);
  const arrivals = await arrived(count, path);
  return { arrival: waysOf(published, arrivals), answer: summarise(published.map(({ took }) => took)) };
}

async function barePosts(): Promise<number> {
  const body = Buffer.from(`{"id":"bare","event":"issue.created","data":${data}}`);
  const bare = new Agent({ connections: 64 });
  const post = async () => {
    const signature = `sha256=${createHmac('sha256', 'bench').update(body).digest('hex')}`;
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    const answer = await request(`${receiver}/bare`, { method: 'POST', headers, body, dispatcher: bare });
    await answer.body.dump();
  };
  await sideBySide(2_000, 64, post);
  const took = await timed(() => sideBySide(20_000, 64, post));
  await bare.close();
  return 20_000_000 / took;
}

async function bareWorkflows(): Promise<number> {
  const workflowsPath = join(import.meta.dirname, 'support/plain-workflow.ts');
  const bare = await Worker.create({ connection, namespace, taskQueue: 'bench-bare', workflowsPath });
  const one = async () =>
    void (await client.workflow.execute('bareTask', {
      workflowId: randomUUID(),
      taskQueue: 'bench-bare',
      args: [],
    }));
  return await bare.runUntil(async () => {
    await sideBySide(50, PUBLISHERS, one);
    return 400_000 / (await timed(() => sideBySide(400, PUBLISHERS, one)));
  });
}

say('at rest: 20 events a second');
const first = await webhook('/rest');
for (let number = 0; number < 40; number += 1) await publish();
await arrived(40, '/rest');
seen.length = 0;
const rest = await atRest(SLOW_EVENTS, '/rest');
await drop(first);

say(`${EVENTS} events by ${PUBLISHERS} publishers, one webhook`);
const one = await webhook('/one');
const published: Published[] = [];
const cpuBefore = byPart(({ cpuSeconds }) => cpuSeconds);
const begun = performance.timeOrigin + performance.now();
const publishing = await timed(() =>
  sideBySide(EVENTS, PUBLISHERS, async () => void published.push(await publish())),
);
const arrivals = await arrived(EVENTS, '/one');
const cpu = new Map(
  [...byPart(({ cpuSeconds }) => cpuSeconds)].map(([part, seconds]) => [
    part,
    (1_000_000 * (seconds - (cpuBefore.get(part) ?? 0))) / EVENTS,
  ]),
);
const lastAt = arrivals.reduce((last, [, , at]) => Math.max(last, at), 0);
const oneRate = (1_000 * EVENTS) / (lastAt - begun);
const oneWay = waysOf(published, arrivals);
await drop(one);

say(`${WIDE_EVENTS} events, ${WIDE} webhooks each`);
const wide = await Promise.all(Array.from({ length: WIDE }, (_, number) => webhook(`/wide${number}`)));
const wideBegun = performance.timeOrigin + performance.now();
await sideBySide(WIDE_EVENTS, PUBLISHERS, async () => void (await publish()));
let wideLast = 0;
for (const [number] of wide.entries()) {
  for (const [, , at] of await arrived(WIDE_EVENTS, `/wide${number}`)) wideLast = Math.max(wideLast, at);
}
const wideRate = (1_000 * WIDE_EVENTS * WIDE) / (wideLast - wideBegun);
await Promise.all(wide.map(drop));

say('a good endpoint alone, then beside one that hangs');
seen.length = 0;
const good = await webhook('/good', 'user.joined');
const userData = JSON.stringify(sampleData('user.joined'));
const alone = await atRest(SLOW_EVENTS / 2, '/good', 'user.joined', userData);
seen.length = 0;
const hanging = await webhook('/hang', 'sprint.started');
const sprintData = JSON.stringify(sampleData('sprint.started'));
await sideBySide(HANGING_EVENTS, PUBLISHERS, async () => void (await publish('sprint.started', sprintData)));
const beside = await atRest(SLOW_EVENTS / 2, '/good', 'user.joined', userData);
await Promise.all([drop(good), drop(hanging)]);

const memory = byPart(memoryOf);
memory.delete('receiver');
say('bare signed POSTs, and bare workflows');
const bareRate = await barePosts();
const workflowRate = await bareWorkflows();

const ms = (value: number) => `${value.toFixed(1)} ms`;
const rate = (value: number) => `${Math.round(value)}/s`;
console.log(
  table([
    ['', 'p50', 'p95', 'p99', 'rate'],
    ['20 events/s: publish → arrival', ms(rest.arrival.p50), ms(rest.arrival.p95), ms(rest.arrival.p99), ''],
    ['20 events/s: answer', ms(rest.answer.p50), ms(rest.answer.p95), ms(rest.answer.p99), ''],
    [`${EVENTS} events, one webhook: accepted`, '', '', '', rate((1_000 * EVENTS) / publishing)],
    [
      `${EVENTS} events, one webhook: delivered`,
      ms(oneWay.p50),
      ms(oneWay.p95),
      ms(oneWay.p99),
      rate(oneRate),
    ],
    [`${WIDE_EVENTS} events, ${WIDE} webhooks: deliveries`, '', '', '', rate(wideRate)],
    ['good endpoint alone', ms(alone.arrival.p50), ms(alone.arrival.p95), ms(alone.arrival.p99), ''],
    [
      `beside ${HANGING_EVENTS} events that hang`,
      ms(beside.arrival.p50),
      ms(beside.arrival.p95),
      ms(beside.arrival.p99),
      '',
    ],
    ['bare signed POSTs, one process', '', '', '', rate(bareRate)],
    ['bare workflows, 50 at once', '', '', '', rate(workflowRate)],
  ]),
);
const ratio = (value: number) => value.toFixed(3);
console.log(`
one webhook ÷ bare POSTs         ${ratio(oneRate / bareRate)}   wanted ≥ 0.08
${WIDE} webhooks ÷ bare POSTs        ${ratio(wideRate / bareRate)}   wanted ≥ 0.17
neighbour's p95 ÷ alone          ${ratio(beside.arrival.p95 / alone.arrival.p95)}   wanted ≤ 1.5
at rest, p50 and p95             ${ms(rest.arrival.p50)} and ${ms(rest.arrival.p95)}   wanted ≤ 20 and 35 ms
CPU per event, one webhook       ${total(cpu).toFixed(0)} µs (${inWords(cpu)})
memory of all processes          ${total(memory).toFixed(0)} MB (${inWords(memory)})   wanted ≤ 700 MB`);

child.disconnect();
await dispatcher.close();
await api.stop();
await worker.stop();
await connection.close();
await baton.fresh.drop();
process.exit(0);

/** What each part of the service has used: a figure per process, added up by part. */
function byPart(figure: (around: { pid: number; cpuSeconds: number }) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const around of processesAround()) {
    try {
      const words = readFileSync(`/proc/${around.pid}/cmdline`, 'utf8');
      const part = PARTS.find(([, form]) => form.test(words))?.[0];
      if (part) sums.set(part, (sums.get(part) ?? 0) + figure(around));
    } catch {
      // It has ended meanwhile, or there is no such file on this system.
    }
  }
  return sums;
}

/** Megabytes; proportional shares, since PostgreSQL's processes share pages. */
function memoryOf({ pid }: { pid: number }): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1_024;
}

function inWords(parts: ReadonlyMap<string, number>): string {
  return [...parts].map(([part, value]) => `${part} ${Math.round(value)}`).join(', ');
}

function total(parts: ReadonlyMap<string, number>): number {
  return [...parts.values()].reduce((sum, value) => sum + value, 0);
}
