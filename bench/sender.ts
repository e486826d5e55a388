import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool } from 'undici';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createSender } from '../src/outbound/attempt.ts';
import { signature } from '../src/outbound/sign.ts';
import { services } from '../test/support/services.ts';
import { sideBySide } from './support/figures.ts';
import { readBenchOptions } from './support/options.ts';
import { row, type FigureTable } from './support/results.ts';
import { runBench } from './support/run-bench.ts';

/*
 * `npm run bench sender [-- <posts> [<only>]] [--quick]`: what an outgoing attempt costs beside a bare signed POST by undici over
 * 64 connections, with a receiver in a process of its own. Only the ratios travel from machine to machine. `only` names
 * one line, for a profile: node --cpu-prof.
 */
const { size, rest, quick } = readBenchOptions(process.argv.slice(2));
const POSTS = size ?? (quick ? 200 : 10_000);
const [ONLY] = rest;
const ROUNDS = quick ? 1 : 3;
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

/** The cheapest of some rounds of each way. */
async function measureAll(chosen: readonly Way[], say: (sentence: string) => void): Promise<Map<Way, Cost>> {
  const best = new Map<Way, Cost>();
  for (const way of chosen) await sideBySide(POSTS / 4, way.width, way.post);
  // Round by round, so that what else the machine does falls on all of them.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of chosen) {
      say(way.name);
      const cost = await measure(way);
      const known = best.get(way);
      if (known === undefined || cost.cpu < known.cpu) best.set(way, cost);
    }
  }
  return best;
}

/** Each of ours stands behind the bare way of the same scheme. */
function rowsOf(best: ReadonlyMap<Way, Cost>): FigureTable['rows'] {
  let reference: Cost | undefined;
  return [...best].map(([{ name }, cost]) => {
    if (name.startsWith('bare')) reference = cost;
    const share = reference && reference !== cost ? cost.cpu / reference.cpu : null;
    return row(name, [cost.perSecond, cost.cpu, share]);
  });
}

await runBench({ name: 'sender', title: 'Outgoing attempts' }, async ({ say }) => {
  const chosen = ONLY === undefined ? ways : ways.filter(({ name }) => name.startsWith(ONLY));
  const best = await measureAll(chosen, say);
  await sender.close();
  child.disconnect();
  const columns = [
    { title: 'posts', unit: '/s', digits: 0 },
    { title: 'CPU of a post', unit: 'µs', digits: 0 },
    { title: '÷ bare', unit: '', digits: 2 },
  ];
  const title = 'An attempt beside a bare signed POST';
  return { tables: [{ id: 'posts', title, columns, rows: rowsOf(best) }], ratios: [] };
});
