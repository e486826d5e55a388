import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool } from 'undici';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createOutboundClient } from '../src/outbound/attempt.ts';
import { requestHeaders } from '../src/outbound/attempt-record.ts';
import { signature } from '../src/outbound/sign.ts';
import { services } from '../test/support/services.ts';
import { runConcurrently } from './support/measure.ts';
import { readBenchOptions } from './support/options.ts';
import { row, type MetricTable } from './support/results.ts';
import { runBench } from './support/run-bench.ts';

/*
 * `npm run bench sender [-- <posts> [<only>]] [--quick]` measures the cost of an outgoing attempt, compared with a bare
 * signed POST by undici over 64 connections, with a receiver in a separate process. Only the ratios can be compared
 * between machines. `only` selects one line, for a profile: node --cpu-prof.
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

type Variant = { name: string; post: () => Promise<void>; width: number };
type Cost = { perSecond: number; cpu: number };

const { ca } = services().tls;
const child = fork(join(import.meta.dirname, 'support/quick-receiver.ts'));
const [ports] = (await once(child, 'message')) as [{ http: number; https: number }];
const sender = createOutboundClient({ guard: createAddressGuard(['127.0.0.0/8', '::1/128']), ca });

const headers = () => ({
  'content-type': 'application/json',
  'x-service-event': 'issue.created',
  'x-service-delivery': '0192f0c1-0000-7000-8000-000000000000',
  'x-service-timestamp': '2026-01-31T12:00:00.000Z',
  'x-service-signature': signature(SECRET, BODY),
});

function createBarePost(origin: string): () => Promise<void> {
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect: { ca }, allowH2: false });
  return async () => {
    const answer = await pool.request({ method: 'POST', path: '/hook', headers: headers(), body: BODY });
    await answer.body.dump();
    if (answer.statusCode !== 204) throw new Error(`the receiver responded with ${answer.statusCode}`);
  };
}

function createBatonPost(origin: string): () => Promise<void> {
  return async () => {
    const record = await sender.attempt({
      url: `${origin}/hook`,
      headers: requestHeaders(headers()),
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
const variants: Variant[] = Object.entries(origins).flatMap(([scheme, origin]) => [
  { name: `bare, ${scheme}, ${CONNECTIONS} at once`, post: createBarePost(origin), width: CONNECTIONS },
  ...WIDTHS.map((width) => ({
    name: `ours, ${scheme}, ${width} at once`,
    post: createBatonPost(origin),
    width,
  })),
]);

async function measure({ post, width }: Variant): Promise<Cost> {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await runConcurrently(POSTS, width, post);
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (1_000 * POSTS) / (performance.now() - began), cpu: (user + system) / POSTS };
}

/** Returns the lowest cost of each variant over some rounds. */
async function measureAll(
  chosen: readonly Variant[],
  log: (sentence: string) => void,
): Promise<Map<Variant, Cost>> {
  const best = new Map<Variant, Cost>();
  for (const variant of chosen) await runConcurrently(POSTS / 4, variant.width, variant.post);
  // Round by round, so that other activity of the machine affects all of them.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const variant of chosen) {
      log(variant.name);
      const cost = await measure(variant);
      const known = best.get(variant);
      if (known === undefined || cost.cpu < known.cpu) best.set(variant, cost);
    }
  }
  return best;
}

/** Our variants follow the bare variant of the same scheme. */
function createRows(best: ReadonlyMap<Variant, Cost>): MetricTable['rows'] {
  let reference: Cost | undefined;
  return [...best].map(([{ name }, cost]) => {
    if (name.startsWith('bare')) reference = cost;
    const share = reference && reference !== cost ? cost.cpu / reference.cpu : null;
    return row(name, [cost.perSecond, cost.cpu, share]);
  });
}

await runBench({ name: 'sender', title: 'Outgoing attempts' }, async ({ log }) => {
  const chosen = ONLY === undefined ? variants : variants.filter(({ name }) => name.startsWith(ONLY));
  const best = await measureAll(chosen, log);
  await sender.close();
  child.disconnect();
  const columns = [
    { title: 'posts', unit: '/s', digits: 0 },
    { title: 'CPU of a post', unit: 'µs', digits: 0 },
    { title: '÷ bare', unit: '', digits: 2 },
  ];
  const title = 'An attempt and a bare signed POST';
  return { tables: [{ id: 'posts', title, columns, rows: createRows(best) }], ratios: [] };
});
