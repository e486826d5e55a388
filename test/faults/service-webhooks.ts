import assert from 'node:assert/strict';
import { withClient } from '../../dev/services/postgres.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import type { Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import type { Service } from '../support/service.ts';
import { runningService } from './shared-service.ts';

/** Longer than the service needs after a restart, on a slow machine. */
const RECORDED_WITHIN_MS = 120_000;

/** A webhook and its receiver. */
export type Endpoint = { id: string; receiver: Receiver };

/** A delivery in the log. */
export type Logged = {
  id: string;
  webhook_id: string;
  event_id: string;
  status: string;
  failure: string | null;
  attempts_count: number;
  generation: number;
  next_attempt_at: string | null;
  /** When the last attempt was complete, unless something else has changed the delivery since. */
  updated_at: string;
  /** Null if the event is not stored. */
  body: string | null;
  attempts: { number: number; trigger: string; response_status: number | null }[];
};

/** Returns the lane's service with one delivery worker and without webhooks. */
async function deliveringService(): Promise<Service> {
  const service = await runningService();
  const { deliveryWorker, secondDeliveryWorker } = service;
  if (!deliveryWorker.isRunning()) await deliveryWorker.start();
  await secondDeliveryWorker.stop();
  const { json } = await service.send('GET', '/api/v1/webhooks?limit=100');
  for (const { id } of json.data) await service.send('DELETE', `/api/v1/webhooks/${id}`);
  return service;
}

/** Creates webhooks for new issues, each with a separate HTTPS receiver. The caller closes the receivers. */
async function createEndpoints(
  service: Service,
  count: number,
  fields: Record<string, unknown> = {},
): Promise<Endpoint[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const receiver = await startCallbackReceiver();
      const body = {
        name: `Webhook ${index + 1}`,
        url: receiver.url,
        events: [{ event: 'issue.created' }],
        ...fields,
      };
      const { status, json, text } = await service.send('POST', '/api/v1/webhooks', { body });
      assert.equal(status, 201, text);
      return { id: String(json.id), receiver };
    }),
  );
}

/**
 * Registers hooks that give each test of a `describe` the whole service with one delivery worker, and `count` webhooks
 * with a receiver each. The result is filled before each test. `fields`: further fields of the webhooks.
 */
export function useEndpoints(
  count: number,
  fields: Record<string, unknown> = {},
): { service: Service; endpoints: readonly Endpoint[] } {
  const service = {} as Service;
  const endpoints: Endpoint[] = [];
  beforeEach(async () => {
    Object.assign(service, await deliveringService());
    endpoints.push(...(await createEndpoints(service, count, fields)));
  });
  afterEach(() => Promise.all(endpoints.splice(0).map(({ receiver }) => receiver.close())));
  return { service, endpoints };
}

/** Reads the whole log of these webhooks from the tables. */
export async function logOf(service: Service, endpoints: readonly Endpoint[]): Promise<Logged[]> {
  const { rows } = await withClient(service.databaseUrl, (client) =>
    client.query<Logged>(
      `select d.id, d.webhook_id, d.event_id, d.status, d.failure, d.attempts_count, d.generation,
         d.next_attempt_at::text, d.updated_at::text, e.body, coalesce(a.attempts, '[]') as attempts
       from deliveries d
       left join events e on e.seq = d.event_seq
       left join lateral (
         select json_agg(json_build_object(
           'number', number, 'trigger', "trigger", 'response_status', response_status) order by number) as attempts
         from delivery_attempts where delivery_id = d.id) a on true
       where d.webhook_id = any($1::uuid[])`,
      [endpoints.map(({ id }) => id)],
    ),
  );
  return rows;
}

/** Returns the ids of the groups of events whose ids begin with `prefix`. */
export async function groupsOf(service: Service, prefix: string): Promise<string[]> {
  const { rows } = await withClient(service.databaseUrl, (client) =>
    client.query<{ group_id: string }>('select distinct group_id from events where starts_with(id, $1)', [
      prefix,
    ]),
  );
  return rows.map(({ group_id: id }) => id);
}

/** Counts the open work of these events: their groups, and deliveries without an attempt. */
export async function openWork(
  service: Service,
  prefix: string,
): Promise<{ groups: number; pending: number }> {
  const { rows } = await withClient(service.databaseUrl, (client) =>
    client.query<{ groups: number; pending: number }>(
      `select
         (select count(*)::int from event_groups g where done_at is null and id in (
           select group_id from events where starts_with(id, $1))) as groups,
         (select count(*)::int from deliveries where starts_with(event_id, $1) and status = 'pending') as pending`,
      [prefix],
    ),
  );
  return rows[0] ?? { groups: -1, pending: -1 };
}

/** Resolves when these events have no open work and `holds`, if given, is true. */
export async function untilRecorded(
  service: Service,
  prefix: string,
  holds: () => boolean = () => true,
): Promise<void> {
  const poll = async () => {
    const { groups, pending } = await openWork(service, prefix);
    return groups === 0 && pending === 0 && holds();
  };
  await eventually(`everything of ${prefix} is recorded`, poll, RECORDED_WITHIN_MS);
}
