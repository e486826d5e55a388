import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { request } from 'undici';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { pino } from 'pino';
import { services } from '../test/support/services.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { summarise } from './support/figures.ts';
import { ratio, row, type FigureTable } from './support/results.ts';
import { runBench, type Found } from './support/run-bench.ts';

/*
 * `npm run bench reactions [-- <times>] [--quick]`: how long it takes until the API shows what somebody has requested, what an
 * operator does in the Temporal Web UI, and that a run goes on after its worker was killed (docs/explanation/guarantees.md).
 */
const LOOK_EVERY_MS = 10;
const SHOWN_WITHIN_MS = 3_000;
const GOES_ON_WITHIN_MS = 30_000;
const LIMIT_MS = 120_000;
/** A run that is under way until something ends it. */
const LONG = { steps: 2, step_ms: 600_000 };
/** A run whose feed grows all the time. */
const BUSY = { steps: 20, step_ms: 2_000, progress_events: 10 };

type Detail = { state: string; last_seq: number };

class Callers {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #projectId: string;

  constructor({ url, installation }: BatonUnderTest) {
    this.#url = url;
    this.#headers = { 'x-api-key': installation.api_key, 'content-type': 'application/json' };
    this.#projectId = installation.project_id;
  }

  async send(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request(`${this.#url}/api/v1/tasks${path}`, {
      method,
      headers: this.#headers,
      ...text,
    });
    if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${await answer.body.text()}`);
    return await answer.body.json();
  }

  async submit(rehearsal: object): Promise<string> {
    const body = { title: 'Bench', project_id: this.#projectId, metadata: { rehearsal } };
    return ((await this.send('POST', '', body)) as { execution_id: string }).execution_id;
  }

  /** Milliseconds until the run's detail holds. @throws after two minutes */
  async until(id: string, holds: (detail: Detail) => boolean): Promise<number> {
    const began = performance.now();
    for (;;) {
      if (holds((await this.send('GET', `/${id}`)) as Detail)) return performance.now() - began;
      if (performance.now() - began > LIMIT_MS)
        throw new Error(`${id} did not get there within ${LIMIT_MS} ms`);
      await wait(LOOK_EVERY_MS);
    }
  }
}

/** Milliseconds until each act on a run that is under way shows as its state, act by act on the same runs. */
async function measureActs(callers: Callers, client: Client, times: number) {
  const { namespace } = client.options;
  const webUi = (workflowId: string) => ({
    namespace,
    workflowId,
    identity: 'bench',
    reason: 'bench',
    requestId: randomUUID(),
  });
  const engine = client.workflowService;
  const lasting = (id: string) => client.workflow.getHandle(id);
  const onGoing: [string, string, (id: string) => Promise<unknown>][] = [
    ['pause by the API', 'paused', (id) => callers.send('POST', `/${id}/pause`, {})],
    ['continue by the API', 'executing', (id) => callers.send('POST', `/${id}/continue`, {})],
    ['pause in the Web UI', 'paused', (id) => engine.pauseWorkflowExecution(webUi(id))],
    ['unpause in the Web UI', 'executing', (id) => engine.unpauseWorkflowExecution(webUi(id))],
  ];
  const endings: typeof onGoing = [
    ['cancel by the API', 'cancelled', (id) => callers.send('POST', `/${id}/cancel`, {})],
    ['cancel in the Web UI', 'cancelled', (id) => lasting(id).cancel()],
    ['terminate in the Web UI', 'cancelled', (id) => lasting(id).terminate('bench')],
  ];
  const samples = new Map<string, number[]>();
  const act = async (id: string, [title, state, work]: (typeof onGoing)[number]) => {
    const began = performance.now();
    await work(id);
    await callers.until(id, (detail) => detail.state === state);
    samples.set(title, [...(samples.get(title) ?? []), performance.now() - began]);
  };
  for (let number = 0; number < times; number += 1) {
    for (const ending of endings) {
      const id = await callers.submit(LONG);
      await callers.until(id, ({ state }) => state === 'executing');
      for (const one of onGoing) await act(id, one);
      await act(id, ending);
    }
  }
  return samples;
}

/** Milliseconds from the kill of one of two task workers until the slowest of the runs that were under way goes on. */
async function measureTakeover(callers: Callers, baton: BatonUnderTest, times: number): Promise<number[]> {
  const silences: number[] = [];
  for (let number = 0; number < times; number += 1) {
    const workers = [
      await baton.start(`task-worker-${number}-a`, 'workers/task-worker.ts'),
      await baton.start(`task-worker-${number}-b`, 'workers/task-worker.ts'),
    ] as const;
    const ids = await Promise.all(Array.from({ length: 20 }, () => callers.submit(BUSY)));
    await Promise.all(ids.map((id) => callers.until(id, ({ last_seq }) => last_seq > 10)));
    process.kill(workers[0].pid, 'SIGKILL');
    const seqs = await Promise.all(
      ids.map(async (id) => ((await callers.send('GET', `/${id}`)) as Detail).last_seq),
    );
    const waits = ids.map((id, index) =>
      callers.until(id, ({ last_seq }) => last_seq > Number(seqs[index]) + 1),
    );
    silences.push(Math.max(...(await Promise.all(waits))));
    await Promise.all(ids.map((id) => callers.send('POST', `/${id}/cancel`, {})));
    await workers[1].stop();
  }
  return silences;
}

await runBench(
  { name: 'reactions', title: 'Reactions' },
  async ({ size, quick, profiles, say }): Promise<Found> => {
    const times = size ?? (quick ? 1 : 20);
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    installRuntime(pino({ level: 'silent' }));
    const { client } = await connectTemporal();
    const baton = await prepareBaton(profiles);
    await baton.start('api', 'src/api/server.ts');
    const worker = await baton.start('task-worker', 'workers/task-worker.ts');
    const callers = new Callers(baton);
    say('acts');
    const samples = await measureActs(callers, client, times);
    await worker.stop();
    say('kills');
    const silences = await measureTakeover(callers, baton, Math.max(1, Math.round(times / 10)));
    const table: FigureTable = {
      id: 'times',
      title: 'Until it shows',
      columns: ['p50', 'p95'].map((title) => ({ title, unit: 'ms', digits: 0 })),
      rows: [...samples].map(([title, all]) => {
        const { p50, p95 } = summarise(all);
        return row(title, [p50, p95]);
      }),
    };
    const slowest = [...samples.values()].map((all) => summarise(all).p95);
    return {
      tables: [table],
      ratios: [
        ratio('the slowest act, p95', Math.max(...slowest), {
          wanted: { at_most: SHOWN_WITHIN_MS },
          unit: 'ms',
          digits: 0,
        }),
        ratio('the slowest run after a kill of its worker', Math.max(...silences), {
          wanted: { at_most: GOES_ON_WITHIN_MS },
          unit: 'ms',
          digits: 0,
        }),
      ],
    };
  },
);
