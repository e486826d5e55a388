import assert from 'node:assert/strict';
import { withClient } from '../../dev/services/postgres.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import type { Service } from '../support/service.ts';
import { services } from '../support/services.ts';
import { wholeService } from './shared-service.ts';

/** Longer than the service needs after a restart, on a slow machine. */
const RECORDED_WITHIN_MS = 120_000;

/** A webhook and who gets what is sent to it. */
export type Endpoint = { id: string; receiver: Receiver };

/** A delivery as the log has it. */
export type Logged = {
  id: string;
  webhook_id: string;
  event_id: string;
  status: string;
  failure: string | null;
  attempts_count: number;
  generation: number;
  next_attempt_at: string | null;
  /** Null where the event is not there. */
  body: string | null;
  attempts: { number: number; trigger: string; response_status: number | null }[];
};

/** Returns the lane's service with one delivery worker and without webhooks. */
export async function deliveringService(): Promise<Service> {
  const service = await wholeService();
  const { deliveryWorker, secondDeliveryWorker } = service;
  if (!deliveryWorker.isRunning()) await deliveryWorker.start();
  await secondDeliveryWorker.stop();
  const { json } = await service.send('GET', '/api/v1/webhooks?limit=100');
  for (const { id } of json.data) await service.send('DELETE', `/api/v1/webhooks/${id}`);
  return service;
}

/** Makes webhooks for new issues, each with a receiver of its own over HTTPS. The receivers are the caller's to close. */
export async function makeEndpoints(
  service: Service,
  count: number,
  members: Record<string, unknown> = {},
): Promise<Endpoint[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const receiver = await startReceiver({ tls: services().tls, name: 'localhost' });
      const body = {
        name: `Webhook ${index + 1}`,
        url: receiver.url,
        events: [{ event: 'issue.created' }],
        ...members,
      };
      const { status, json, text } = await service.send('POST', '/api/v1/webhooks', { body });
      assert.equal(status, 201, text);
      return { id: String(json.id), receiver };
    }),
  );
}

/** What the tests of a suite stand on, each one afresh. */
export type Ground = { service: Service; endpoints: readonly Endpoint[] };

/**
 * {@link deliveringService} with so many webhooks of {@link makeEndpoints}, made before each test and their receivers
 * closed after it. What it answers gives the present test's.
 */
export function useEndpoints(count: number): () => Ground {
  let ground: Ground;
  beforeEach(async () => {
    const service = await deliveringService();
    ground = { service, endpoints: await makeEndpoints(service, count) };
  });
  afterEach(() => Promise.all(ground.endpoints.map(({ receiver }) => receiver.close())));
  return () => ground;
}

/** The whole log of these webhooks, from the tables themselves. */
export async function logOf(service: Service, endpoints: readonly Endpoint[]): Promise<Logged[]> {
  const { rows } = await withClient(service.databaseUrl, (client) =>
    client.query<Logged>(
      `select d.id, d.webhook_id, d.event_id, d.status, d.failure, d.attempts_count, d.generation,
         d.next_attempt_at::text, e.body, coalesce(a.attempts, '[]') as attempts
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

/** Ids of the groups in which events came whose ids begin with `prefix`. */
export async function groupsOf(service: Service, prefix: string): Promise<string[]> {
  const { rows } = await withClient(service.databaseUrl, (client) =>
    client.query<{ group_id: string }>('select distinct group_id from events where starts_with(id, $1)', [
      prefix,
    ]),
  );
  return rows.map(({ group_id: id }) => id);
}

/** How much of what came with these events is still to be done: their groups, and deliveries never attempted. */
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

/** Resolves when nothing of what came with these events is still to be done, and `holds`, if given, is true as well. */
export async function untilRecorded(
  service: Service,
  prefix: string,
  holds: () => boolean = () => true,
): Promise<void> {
  const look = async () => {
    const { groups, pending } = await openWork(service, prefix);
    return groups === 0 && pending === 0 && holds();
  };
  await eventually(`everything of ${prefix} is recorded`, look, RECORDED_WITHIN_MS);
}
