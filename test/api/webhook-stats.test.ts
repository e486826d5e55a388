import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { withClient } from '../../dev/services/postgres.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { useWorld } from '../support/world.ts';

const HOUR_MS = 3_600_000;

type Row = {
  /** Hours ago. */
  created: number;
  attempts: { ago: number; failure?: string; trigger?: string }[];
  generation?: number;
  test?: boolean;
};

describe('the statistics of a webhook', () => {
  const world = useWorld();
  let now: number;

  beforeEach(() => {
    now = Date.now();
  });

  const ago = (hours: number) => new Date(now - hours * HOUR_MS).toISOString();

  const webhook = async (): Promise<string> => {
    const id = randomUUID();
    await sql`
      insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
      values (${id}, ${world.installation.workspace_id}, 'W', 'https://example.com/', '[]', 'system', now(), now())
    `.execute(queryBuilderOf(world.database));
    return id;
  };

  const delivery = async (webhookId: string, { created, attempts, generation = 0, test = false }: Row) => {
    const id = derivedUuid(new Date(ago(created)), randomUUID());
    const last = attempts.at(-1)?.ago ?? created;
    await sql`
      insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, test, generation,
        attempts_count, created_at, updated_at)
      values (${id}, ${world.installation.workspace_id}, ${webhookId}, 1, 'e', 'issue.created', 'succeeded', ${test},
        ${generation}, ${attempts.length}, ${ago(created)}, ${ago(last)})
    `.execute(queryBuilderOf(world.database));
    for (const [index, attempt] of attempts.entries()) {
      await sql`
        insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers, failure, timings)
        values (${id}, ${index + 1}, ${attempt.trigger ?? 'automatic'}, ${ago(attempt.ago)}, 'https://example.com/',
          '{}', ${attempt.failure ?? null}, '{}')
      `.execute(queryBuilderOf(world.database));
    }
    return id;
  };

  const stats = async (id: string, query = '') =>
    (await world.send('GET', `/api/v1/webhooks/${id}/stats${query}`)).json;

  it('count attempts by hour, the current hour last', async () => {
    const id = await webhook();
    await delivery(id, { created: 0.5, attempts: [{ ago: 0.5 }] });
    await delivery(id, { created: 2.5, attempts: [{ ago: 2.5, failure: 'timeout' }, { ago: 2.4 }] });
    const found = await stats(id);
    assert.equal(found.hours.length, 24);
    assert.deepEqual(
      found.hours.slice(-3).map(({ succeeded, failed }: Record<string, number>) => [succeeded, failed]),
      [
        [1, 1],
        [0, 0],
        [1, 0],
      ],
    );
    assert.deepEqual([found.total, found.succeeded, found.failed], [3, 2, 1]);
    assert.equal(found.success_rate, 2 / 3);
    assert.equal(found.last_delivery_at, ago(0.5));
    assert.equal(Date.parse(found.to) - Date.parse(found.from), 24 * HOUR_MS);
    assert.equal(found.hours[0].from, found.from);
  });

  it('count late attempts by the schedule, after a recovery and by hand', async () => {
    const id = await webhook();
    await delivery(id, { created: 38, attempts: [{ ago: 38, failure: 'status' }, { ago: 23.5 }] });
    await delivery(id, {
      created: 500,
      attempts: [{ ago: 500, failure: 'status' }, { ago: 3 }],
      generation: 2,
    });
    await delivery(id, { created: 700, attempts: [{ ago: 700 }, { ago: 1, trigger: 'manual' }] });
    const found = await stats(id);
    assert.deepEqual([found.total, found.succeeded, found.failed], [3, 3, 0]);
    assert.equal(found.last_delivery_at, ago(1));
  });

  it('include the last attempt, held deliveries, the next retry and response times', async () => {
    const id = await webhook();
    await delivery(id, { created: 2, attempts: [{ ago: 2 }] });
    await delivery(id, { created: 1, attempts: [{ ago: 1, failure: 'timeout' }] });
    await delivery(id, { created: 3, attempts: [] });
    const rows = queryBuilderOf(world.database);
    await sql`update delivery_attempts set response_status = 200, response_ms = 41
      where failure is null and delivery_id in (select id from deliveries where webhook_id = ${id})`.execute(
      rows,
    );
    await sql`update delivery_attempts set response_ms = 30000
      where failure = 'timeout' and delivery_id in (select id from deliveries where webhook_id = ${id})`.execute(
      rows,
    );
    await sql`update deliveries set status = 'retrying', failure = 'timeout', next_attempt_at = ${ago(-1)}
      where webhook_id = ${id} and created_at = ${ago(1)}`.execute(rows);
    await sql`update deliveries set status = 'held' where webhook_id = ${id} and attempts_count = 0`.execute(
      rows,
    );
    const found = await stats(id);
    assert.equal(found.last.failure, 'timeout');
    assert.equal(found.held, 1);
    assert.equal(found.next_attempt_at, ago(-1));
    assert.deepEqual(
      found.hours.slice(-3).map(({ p95_ms: p95 }: { p95_ms: number | null }) => p95),
      [41, 30_000, null],
    );
    const quiet = await stats(await webhook());
    assert.deepEqual([quiet.last, quiet.held, quiet.next_attempt_at], [null, 0, null]);
  });

  it('exclude tests, other webhooks and older attempts', async () => {
    const id = await webhook();
    await delivery(id, { created: 1, attempts: [{ ago: 1, trigger: 'test' }], test: true });
    await delivery(await webhook(), { created: 1, attempts: [{ ago: 1 }] });
    await delivery(id, { created: 2, attempts: [] });
    await delivery(id, { created: 30, attempts: [{ ago: 30 }] });
    const found = await stats(id);
    assert.deepEqual([found.total, found.success_rate], [0, null]);
    assert.equal(found.last_delivery_at, ago(30));
    assert.equal((await stats(id, '?hours=48')).total, 1);
    assert.equal((await stats(id, '?hours=1')).hours.length, 1);
  });

  it('cache the counts of many attempts, but not the last attempt', async () => {
    const id = await webhook();
    // On a separate connection: one with a cached plan for few rows would check the foreign keys by reading all rows.
    await withClient(world.configuration.databaseUrl, (client) =>
      client.query(
        `with many as (
           insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
             created_at, updated_at)
           select uuidv7('-1 hour'), $1, $2, 1, 'e', 'issue.created', 'succeeded', 1, $3, $3
           from generate_series(1, 50000)
           returning id
         )
         insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers,
           response_status, response_ms, timings)
         select id, 1, 'automatic', $3, 'https://example.com/', '{}', 200, 10, '{}' from many`,
        [world.installation.workspace_id, id, ago(1)],
      ),
    );
    const [first, beside] = await Promise.all([stats(id), stats(id)]);
    const newest = await delivery(id, { created: 0.1, attempts: [{ ago: 0.1 }] });
    const later = await stats(id);
    assert.deepEqual([first.total, later.total], [50_000, 50_000]);
    assert.deepEqual([beside.to, later.to], [first.to, first.to]);
    assert.notEqual(first.last.delivery_id, newest);
    assert.equal(later.last.delivery_id, newest);
    assert.equal(later.last_delivery_at, ago(0.1));
    assert.equal((await stats(id, '?hours=2')).total, 50_001, 'another period is counted separately');
  });

  it('return 404 for an unknown or deleted webhook, and 400 for invalid hours', async () => {
    const id = await webhook();
    const path = `/api/v1/webhooks/${id}/stats`;
    assert.equal((await world.send('GET', `/api/v1/webhooks/${randomUUID()}/stats`)).status, 404);
    for (const hours of ['0', '169', '1.5', 'x'])
      assert.equal((await world.send('GET', `${path}?hours=${hours}`)).status, 400);
    await sql`update webhooks set deleted_at = now() where id = ${id}`.execute(
      queryBuilderOf(world.database),
    );
    assert.equal((await world.send('GET', path)).status, 404);
  });
});
