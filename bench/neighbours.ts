import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { connectDatabase } from '../src/database/connect.ts';
import type { Database } from '../src/database/database.ts';
import { FAILURES_TO_DISABLE } from '../src/domain/common/limits.ts';
import { sampleData } from '../src/domain/webhooks/event-samples.ts';
import { createWorkspace } from '../src/runtime/installation.ts';
import { prepareBaton } from './support/baton.ts';
import { runConcurrently, type Summary } from './support/measure.ts';
import { ratio, row } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import {
  createEventClient,
  publishSteadily,
  startBenchReceiver,
  type EventClient,
} from './support/webhook-load.ts';

/*
 * `npm run bench neighbours [-- --quick] [--profile]` measures the time from publishing an event to its arrival in one
 * workspace: alone, and during problems of another workspace. These are bad receivers, webhooks with very many
 * deliveries, and very many manual retries.
 */
const PUBLISHERS = 20;

/** The workspace with the problems. */
type OtherWorkspace = { client: EventClient; database: Database; workspaceId: string };
type Sizes = { events: number; deliveries: number; retries: number };
/** Causes a problem. Returns a function that ends it. */
type Problem = (other: OtherWorkspace, sizes: Sizes) => Promise<() => Promise<unknown>>;

const PROBLEMS: Readonly<Record<string, Problem>> = {
  'a webhook that does not respond': (other, sizes) => badReceiver(other, '/hang', sizes.events),
  'a webhook that takes 25 s': (other, sizes) => badReceiver(other, '/slow', sizes.events),
  'a webhook that fails': (other, sizes) => badReceiver(other, '/fail', sizes.events),
  async 'disabling a webhook with many deliveries'(other, { deliveries }) {
    const id = await webhookWith(other, { path: '/fail', status: 'retrying', deliveries });
    await publish(other, FAILURES_TO_DISABLE);
    return () => other.client.deleteWebhook(id);
  },
  async 'recovering a webhook with many deliveries'(other, { deliveries }) {
    const id = await webhookWith(other, { path: '/flood', status: 'failed', deliveries });
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const recovery = JSON.stringify({ since, statuses: ['failed'] });
    void other.client.call('POST', `/api/v1/webhooks/${id}/recover`, recovery).catch(() => {});
    return () => other.client.deleteWebhook(id);
  },
  async 'many manual retries'(other, { retries }) {
    const id = await webhookWith(other, { path: '/slow', status: 'failed', deliveries: retries });
    const rows = await other.database.em
      .fork()
      .execute<{ id: string }[]>('select id from deliveries where webhook_id = ?', [id]);
    await runConcurrently(rows.length, PUBLISHERS, async (number) => {
      await other.client.call('POST', `/api/v1/deliveries/${rows[number]?.id}/retry`);
    });
    return () => other.client.deleteWebhook(id);
  },
};

async function badReceiver(
  other: OtherWorkspace,
  path: string,
  events: number,
): Promise<() => Promise<unknown>> {
  const id = await other.client.createWebhook(path, 'sprint.started');
  await publish(other, events);
  return () => other.client.deleteWebhook(id);
}

async function publish({ client }: OtherWorkspace, events: number): Promise<void> {
  const data = JSON.stringify(sampleData('sprint.started'));
  await runConcurrently(events, PUBLISHERS, async () => void (await client.publish('sprint.started', data)));
}

/** Creates a webhook with deliveries that nothing attempts at the moment. */
async function webhookWith(
  { client, database, workspaceId }: OtherWorkspace,
  { path, status, deliveries }: { path: string; status: 'retrying' | 'failed'; deliveries: number },
): Promise<string> {
  const id = await client.createWebhook(path, 'sprint.started');
  await database.em.fork().execute(
    `with event as (
       insert into events (workspace_id, id, event, "timestamp", content_hash, body, received_at)
       values (?, ?, 'sprint.started', now(), '', '{"id":"x","data":{}}', now()) returning seq
     )
     insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, failures,
       next_attempt_at, retry_started, created_at, updated_at)
     select gen_random_uuid(), ?, ?, event.seq, 'e', 'sprint.started', ?, 1,
       case when ? = 'retrying' then now() + interval '1 hour' end, true, now(), now()
     from event, generate_series(1, ?)`,
    [workspaceId, `evt_${id}`, workspaceId, id, status, status, deliveries],
  );
  await database.em.fork().execute('analyze deliveries');
  return id;
}

type Measured = { title: string; alone: Summary; beside: Summary };

await runBench(
  { name: 'neighbours', title: 'Neighbours' },
  async ({ quick, profiles, log }): Promise<Measurements> => {
    const sizes: Sizes = quick
      ? { events: 20, deliveries: 2_000, retries: 20 }
      : { events: 500, deliveries: 150_000, retries: 1_000 };
    const count = quick ? 20 : 200;
    const baton = await prepareBaton(profiles);
    const receiver = await startBenchReceiver();
    const dispatcher = new Agent({ connections: 64 });
    const api = await baton.start('api', 'src/api/server.ts');
    const worker = await baton.start('delivery-worker', 'workers/delivery-worker.ts');
    const database = await connectDatabase(baton.fresh.url, 4);
    const created = await createWorkspace(database.em.fork(), {
      workspaceName: 'Neighbour',
      projectName: 'Neighbour',
      adminEmail: 'neighbour@example.com',
    });
    const clientOf = (key: string) =>
      createEventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
    const other = {
      client: clientOf(created.api_key),
      database,
      workspaceId: created.workspace_id,
    };
    const client = clientOf(baton.installation.api_key);
    await client.createWebhook('/good', 'user.joined');
    const measure = async (): Promise<Summary> => {
      await receiver.clear();
      const { arrival } = await publishSteadily(client, receiver, {
        count,
        path: '/good',
        event: 'user.joined',
      });
      return arrival;
    };
    await measure();
    const measured: Measured[] = [];
    for (const [title, cause] of Object.entries(PROBLEMS)) {
      log(title);
      const alone = await measure();
      const end = await cause(other, sizes);
      const beside = await measure();
      await end();
      measured.push({ title, alone, beside });
      // Waits for attempts in progress, so that they do not affect the next measurement.
      await wait(quick ? 0 : 5_000);
    }
    receiver.end();
    await database.close();
    await dispatcher.close();
    await api.stop();
    await worker.stop();
    await baton.fresh.drop();
    return {
      tables: [
        {
          id: 'neighbours',
          title: 'Publish → arrival in one workspace, 20 events a second',
          columns: ['alone, p50', 'alone, p95', 'beside, p50', 'beside, p95'].map((heading) => ({
            title: heading,
            unit: 'ms',
            digits: 1,
          })),
          rows: measured.map(({ title, alone, beside }) =>
            row(title, [alone.p50, alone.p95, beside.p50, beside.p95]),
          ),
        },
      ],
      ratios: measured.map(({ title, alone, beside }) =>
        ratio(`${title}: p95 beside ÷ alone`, beside.p95 / alone.p95, { wanted: { at_most: 1.5 } }),
      ),
    };
  },
);
