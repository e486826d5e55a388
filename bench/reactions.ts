import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { request } from 'undici';
import { connectTemporal, installRuntime } from '../src/runtime/temporal.ts';
import { pino } from 'pino';
import { services } from '../test/support/services.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { summarize } from './support/measure.ts';
import { ratio, row, type MetricTable } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';

/*
 * `npm run bench reactions [-- <times>] [--quick]` measures the time until the API shows the effect of a command, by the
 * API or in the Temporal Web UI, and until a run continues after its worker was killed
 * (docs/explanation/guarantees.md).
 */
const POLL_INTERVAL_MS = 10;
const MAX_VISIBLE_MS = 3_000;
const MAX_TAKEOVER_MS = 30_000;
const TIMEOUT_MS = 120_000;
/** A run that stays in progress. */
const LONG = { steps: 2, step_ms: 600_000 };
/** A run whose feed grows constantly. */
const BUSY = { steps: 20, step_ms: 2_000, progress_events: 10 };

type Detail = { state: string; last_seq: number };

class ApiClient {
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

  /** Returns the milliseconds until `holds` is true for the run's detail. @throws after two minutes */
  async until(id: string, holds: (detail: Detail) => boolean): Promise<number> {
    const began = performance.now();
    for (;;) {
      if (holds((await this.send('GET', `/${id}`)) as Detail)) return performance.now() - began;
      if (performance.now() - began > TIMEOUT_MS)
        throw new Error(`${id} did not reach the expected state within ${TIMEOUT_MS} ms`);
      await wait(POLL_INTERVAL_MS);
    }
  }
}

/** Measures the milliseconds until the run's state shows each command, one after another on the same runs. */
async function measureCommands(api: ApiClient, client: Client, times: number) {
  const { namespace } = client.options;
  const webUi = (workflowId: string) => ({
    namespace,
    workflowId,
    identity: 'bench',
    reason: 'bench',
    requestId: randomUUID(),
  });
  const workflowService = client.workflowService;
  const handleOf = (id: string) => client.workflow.getHandle(id);
  const pauses: [string, string, (id: string) => Promise<unknown>][] = [
    ['pause by the API', 'paused', (id) => api.send('POST', `/${id}/pause`, {})],
    ['continue by the API', 'executing', (id) => api.send('POST', `/${id}/continue`, {})],
    ['pause in the Web UI', 'paused', (id) => workflowService.pauseWorkflowExecution(webUi(id))],
    ['unpause in the Web UI', 'executing', (id) => workflowService.unpauseWorkflowExecution(webUi(id))],
  ];
  const endings: typeof pauses = [
    ['cancel by the API', 'cancelled', (id) => api.send('POST', `/${id}/cancel`, {})],
    ['cancel in the Web UI', 'cancelled', (id) => handleOf(id).cancel()],
    ['terminate in the Web UI', 'cancelled', (id) => handleOf(id).terminate('bench')],
  ];
  const samples = new Map<string, number[]>();
  const measureCommand = async (id: string, [title, state, work]: (typeof pauses)[number]) => {
    const began = performance.now();
    await work(id);
    await api.until(id, (detail) => detail.state === state);
    samples.set(title, [...(samples.get(title) ?? []), performance.now() - began]);
  };
  for (let number = 0; number < times; number += 1) {
    for (const ending of endings) {
      const id = await api.submit(LONG);
      await api.until(id, ({ state }) => state === 'executing');
      for (const one of pauses) await measureCommand(id, one);
      await measureCommand(id, ending);
    }
  }
  return samples;
}

/** Measures the milliseconds from the kill of one of two task workers until the slowest run in progress continues. */
async function measureTakeover(api: ApiClient, baton: BatonUnderTest, times: number): Promise<number[]> {
  const silences: number[] = [];
  for (let number = 0; number < times; number += 1) {
    const workers = [
      await baton.start(`task-worker-${number}-a`, 'workers/task-worker.ts'),
      await baton.start(`task-worker-${number}-b`, 'workers/task-worker.ts'),
    ] as const;
    const ids = await Promise.all(Array.from({ length: 20 }, () => api.submit(BUSY)));
    await Promise.all(ids.map((id) => api.until(id, ({ last_seq }) => last_seq > 10)));
    process.kill(workers[0].pid, 'SIGKILL');
    const seqs = await Promise.all(
      ids.map(async (id) => ((await api.send('GET', `/${id}`)) as Detail).last_seq),
    );
    const waits = ids.map((id, index) => api.until(id, ({ last_seq }) => last_seq > Number(seqs[index]) + 1));
    silences.push(Math.max(...(await Promise.all(waits))));
    await Promise.all(ids.map((id) => api.send('POST', `/${id}/cancel`, {})));
    await workers[1].stop();
  }
  return silences;
}

await runBench(
  { name: 'reactions', title: 'Reactions' },
  async ({ size, quick, profiles, log }): Promise<Measurements> => {
    const times = size ?? (quick ? 1 : 20);
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    installRuntime(pino({ level: 'silent' }));
    const { client } = await connectTemporal();
    const baton = await prepareBaton(profiles);
    await baton.start('api', 'src/api/server.ts');
    const worker = await baton.start('task-worker', 'workers/task-worker.ts');
    const api = new ApiClient(baton);
    log('commands');
    const samples = await measureCommands(api, client, times);
    await worker.stop();
    log('kills');
    const silences = await measureTakeover(api, baton, Math.max(1, Math.round(times / 10)));
    const table: MetricTable = {
      id: 'times',
      title: 'Until it shows',
      columns: ['p50', 'p95'].map((title) => ({ title, unit: 'ms', digits: 0 })),
      rows: [...samples].map(([title, all]) => {
        const { p50, p95 } = summarize(all);
        return row(title, [p50, p95]);
      }),
    };
    const slowest = [...samples.values()].map((all) => summarize(all).p95);
    return {
      tables: [table],
      ratios: [
        ratio('the slowest act, p95', Math.max(...slowest), {
          wanted: { at_most: MAX_VISIBLE_MS },
          unit: 'ms',
          digits: 0,
        }),
        ratio('the slowest run after a kill of its worker', Math.max(...silences), {
          wanted: { at_most: MAX_TAKEOVER_MS },
          unit: 'ms',
          digits: 0,
        }),
      ],
    };
  },
);
