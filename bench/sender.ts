import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool } from 'undici';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createSender } from '../src/outbound/attempt.ts';
import { signature } from '../src/outbound/sign.ts';
import { services } from '../test/support/services.ts';
import { sideBySide, table } from './support/figures.ts';

/*
 * `npm run bench sender [-- <posts> [<only>]]`: what an outgoing attempt costs beside a bare signed POST by undici over
 * 64 connections, with a receiver in a process of its own. Only the ratios travel from machine to machine. `only` names
 * one line, for a profile: node --cpu-prof.
 */
const POSTS = Number(process.argv[2] ?? 10_000);
const ONLY = process.argv[3];
const ROUNDS = 3;
const WIDTHS = [10, 64, 100];
const CONNECTIONS = 64;
const BODY = Buffer.from(
  JSON.stringify({ id: 'evt_1', event: 'issue.created', data: { text: 'x'.repeat(400) } }),
);
const SECRET = 'a'.repeat(64);

type Way = { name: string; post: () => Promise<void>; width: number };
type Cost = { perSecond: number; cpu: number };

const { ca } = services().tls;
const child = fork(join(import.meta.dirname, 'support/quick-receiver.ts'));
const [ports] = (await once(child, 'message')) as [{ http: number; https: number }];
const sender = createSender({ guard: createAddressGuard(['127.0.0.0/8', '::1/128']), ca });

const headers = () => ({
  'content-type': 'application/json',
  'x-service-event': 'issue.created',
  'x-service-delivery': '0192f0c1-0000-7000-8000-000000000000',
  'x-service-timestamp': '2026-01-31T12:00:00.000Z',
  'x-service-signature': signature(SECRET, BODY),
});

function bare(origin: string): () => Promise<void> {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect: { ca }, allowH2: false });
  return async () => {
    const answer = await pool.request({ method: 'POST', path: '/hook', headers: headers(), body: BODY });
    await answer.body.dump();
    if (answer.statusCode !== 204) throw new Error(`the receiver answered ${answer.statusCode}`);
  };
}

function ours(origin: string): () => Promise<void> {
  return async () => {
    const record = await sender.attempt({
      url: `${origin}/hook`,
      headers: headers(),
      body: BODY,
      timeoutMs: 30_000,
      maxResponseBytes: 65_536,
    });
    if (record.outcome !== 'succeeded') throw new Error(record.message ?? 'failed');
  };
}

const origins = {
  http: `http://127.0.0.1:${ports.http}`,
  'http, a name': `http://localhost:${ports.http}`,
  https: `https://127.0.0.1:${ports.https}`,
};
const ways: Way[] = Object.entries(origins).flatMap(([scheme, origin]) => [
  { name: `bare, ${scheme}, ${CONNECTIONS} at once`, post: bare(origin), width: CONNECTIONS },
  ...WIDTHS.map((width) => ({ name: `ours, ${scheme}, ${width} at once`, post: ours(origin), width })),
]);

async function measure({ post, width }: Way): Promise<Cost> {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await sideBySide(POSTS, width, post);
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (1_000 * POSTS) / (performance.now() - began), cpu: (user + system) / POSTS };
}

const best = new Map<Way, Cost>();
const chosen = ONLY === undefined ? ways : ways.filter(({ name }) => name.startsWith(ONLY));
for (const way of chosen) await sideBySide(POSTS / 4, way.width, way.post);
// Round by round, so that what else the machine does falls on all of them.
for (let round = 0; round < ROUNDS; round += 1) {
  for (const way of chosen) {
    process.stderr.write(`  … ${way.name}\n`);
    const cost = await measure(way);
    const known = best.get(way);
    if (known === undefined || cost.cpu < known.cpu) best.set(way, cost);
  }
}

let reference: Cost | undefined;
const lines = chosen.map((way) => {
  const cost = best.get(way) ?? { perSecond: Number.NaN, cpu: Number.NaN };
  if (way.name.startsWith('bare')) reference = cost;
  const ratio = reference && reference !== cost ? (cost.cpu / reference.cpu).toFixed(2) : '';
  return [way.name, cost.perSecond.toFixed(0), `${cost.cpu.toFixed(0)} µs`, ratio];
});
console.log(table([['', 'posts/s', 'CPU per post', '÷ bare'], ...lines]));

await sender.close();
child.disconnect();
process.exit(0);
