import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import {
  buildDeliveriesQuery,
  listDeliveries,
  findMatchingEvents,
  type DeliveryFilter,
} from '../../src/database/webhooks/deliveries.ts';
import { useInstallation } from '../support/installation.ts';

const DELIVERIES = 200_000;
const EVENTS = 50_000;
const PAGE = 50;

/** A node of a query plan of PostgreSQL. */
type PlanNode = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
};

describe('a log of 200,000 deliveries', () => {
  const fresh = useInstallation();
  let database: Database;
  let workspaceId: string;
  const webhookId = randomUUID();
  before(async () => {
    ({ database } = fresh);
    workspaceId = fresh.installation.workspace_id;
    await fill();
  });

  /** Half of the deliveries belong to the webhook; nearly all have succeeded. Indexes are created last, which is faster. */
  async function fill(): Promise<void> {
    const db = queryBuilderOf(database);
    await db.transaction().execute(async (transaction) => {
      const run = async (statement: RawBuilder<unknown>) => await statement.execute(transaction);
      await run(sql`set local session_replication_role = replica`);
      const { rows: indexes } = await sql<{ name: string; definition: string }>`
        select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
        where indrelid in ('events'::regclass, 'deliveries'::regclass) and not indisunique
      `.execute(transaction);
      for (const { name } of indexes) await run(sql`drop index ${sql.raw(name)}`);
      await run(sql`
        insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
        values (${webhookId}::uuid, ${workspaceId}::uuid, 'W', 'http://x', '[]', 'x', now(), now())`);
      await run(sql`
        insert into events (workspace_id, id, event, "timestamp", content_hash, words, received_at)
        select ${workspaceId}::uuid, 'e' || n, 'issue.created', now(), '',
          'issue.created a title' || n || case when n % 10000 = 7 then ' zebra' else '' end, now()
        from generate_series(1, ${EVENTS}) n`);
      await run(sql`
        insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
          created_at, updated_at)
        select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
            || '8' || substr(md5(n::text), 4, 15))::uuid,
          ${workspaceId}::uuid, case when n % 2 = 0 then ${webhookId}::uuid else ${randomUUID()}::uuid end,
          1 + n % ${EVENTS}, 'e' || (1 + n % ${EVENTS}),
          case when n % 20000 = 8 then 'user.joined' when n % 10 = 0 then 'issue.updated' else 'issue.created' end,
          case when n % 20000 = 6 then 'failed' when n % 200 = 2 then 'skipped' else 'succeeded' end, 1, at, at
        from generate_series(1, ${DELIVERIES}) n,
          lateral (select timestamptz '2026-01-01' + n * interval '25 seconds' as at) t`);
      for (const { definition } of indexes) await run(sql.raw(definition));
    });
    await sql`analyze events, deliveries`.execute(db);
  }

  const completeFilter = (filter: Partial<DeliveryFilter>): DeliveryFilter => {
    return { workspaceId, webhookId, limit: PAGE + 1, ...filter };
  };

  /** Executes the query of a page, and returns all nodes of its plan. */
  const planOf = async (filter: Partial<DeliveryFilter>): Promise<PlanNode[]> => {
    const { text } = filter;
    const matching = text === undefined ? null : await findMatchingEvents(database, workspaceId, text);
    const statement = buildDeliveriesQuery(completeFilter(filter), matching);
    const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>`
      explain (analyze, format json) ${statement}
    `.execute(queryBuilderOf(database));
    const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
    return nodes((rows[0] as NonNullable<(typeof rows)[0]>)['QUERY PLAN'][0].Plan);
  };

  const day = { createdAfter: new Date('2026-01-20'), createdBefore: new Date('2026-01-21') };
  const CASES: [title: string, filter: Partial<DeliveryFilter>, rows: number][] = [
    ['without a filter', {}, PAGE + 1],
    ['deep in the log', { cursor: '019b9000-0000-7000-8000-000000000000' }, PAGE + 1],
    ['by a rare status', { statuses: ['failed'] }, 10],
    ['by an unused status', { statuses: ['held'] }, 0],
    ['by a frequent status', { statuses: ['succeeded'] }, PAGE + 1],
    ['by several statuses', { statuses: ['failed', 'held', 'skipped'] }, PAGE + 1],
    ['by a rare kind', { events: ['user.joined'] }, 10],
    ['by an unused kind', { events: ['sprint.started'] }, 0],
    ['by several kinds', { events: ['user.joined', 'issue.updated'] }, PAGE + 1],
    ['by kind and status', { events: ['user.joined'], statuses: ['succeeded', 'failed'] }, 10],
    ['by time', day, PAGE + 1],
    ['by a time without deliveries', { createdAfter: new Date('2027-01-01') }, 0],
    ['by time and status', { ...day, statuses: ['skipped'] }, 17],
    ['by a rare word', { text: 'zebra' }, 20],
    ['by an unused word', { text: 'giraffe' }, 0],
    ['by a word of all events', { text: 'issue.created' }, PAGE + 1],
    ['by a prefix', { text: 'title123' }, PAGE + 1],
    ['by a word and a status', { text: 'issue.created', statuses: ['failed'] }, 10],
    ['by an unknown id', { text: randomUUID() }, 0],
  ];
  for (const [title, filter, count] of CASES) {
    it(`returns a page ${title} by means of indexes`, async () => {
      const rows = await listDeliveries(database, completeFilter(filter));
      assert.equal(rows.length, count);
      assert.deepEqual(
        rows.map(({ id }) => id),
        rows
          .map(({ id }) => id)
          .toSorted()
          .toReversed(),
        'newest first',
      );
      const nodes = await planOf(filter);
      const scans = nodes.filter((node) => node['Node Type'].includes('Scan'));
      assert.ok(scans.length > 0);
      const names = nodes.map((node) => node['Node Type']).join(', ');
      assert.ok(!names.includes('Seq Scan'), names);
      const seen = scans.reduce(
        (sum, node) =>
          sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      );
      assert.ok(seen < DELIVERIES / 50, `${seen} rows were read: ${names}`);
    });
  }

  it('finds a delivery by its id', async () => {
    const [first] = await listDeliveries(
      database,
      completeFilter({ cursor: '019b9000-0000-7000-8000-000000000000' }),
    );
    const found = await listDeliveries(database, completeFilter({ text: String(first?.id) }));
    assert.deepEqual(found, [first]);
  });

  it('returns every row once, page by page, while rows are inserted', async () => {
    const filter = { statuses: ['skipped', 'failed'] as const, limit: 200 };
    const { rows } = await sql<{ id: string }>`
      select id from deliveries where webhook_id = ${webhookId}::uuid and status in ('skipped', 'failed')
      order by id desc
    `.execute(queryBuilderOf(database));
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await listDeliveries(database, completeFilter({ ...filter, cursor }));
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      cursor = page.at(-1)?.id;
      await sql`
        insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
        select ${randomUUIDv7()}::uuid, workspace_id, webhook_id, event_seq, event_id, event, status, now(), now()
        from deliveries where id = ${rows[0]?.id}
      `.execute(queryBuilderOf(database));
    }
    assert.deepEqual(
      seen,
      rows.map(({ id }) => id),
    );
  });
});
