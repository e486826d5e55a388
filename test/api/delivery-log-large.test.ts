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

/** A node of a plan, as PostgreSQL tells of it. */
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

  /** Half of the deliveries are the webhook's; nearly all have succeeded. Indexes are built last, which is quicker. */
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

  const whole = (filter: Partial<DeliveryFilter>): DeliveryFilter => {
    return { workspaceId, webhookId, limit: PAGE + 1, ...filter };
  };

  /** Every node of the plan by which a page is found, after it was run. */
  const planOf = async (filter: Partial<DeliveryFilter>): Promise<PlanNode[]> => {
    const { text } = filter;
    const matching = text === undefined ? null : await findMatchingEvents(database, workspaceId, text);
    const statement = buildDeliveriesQuery(whole(filter), matching);
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
    ['by a status that few have', { statuses: ['failed'] }, 10],
    ['by a status that none has', { statuses: ['held'] }, 0],
    ['by a status that nearly all have', { statuses: ['succeeded'] }, PAGE + 1],
    ['by several statuses', { statuses: ['failed', 'held', 'skipped'] }, PAGE + 1],
    ['by a kind that few have', { events: ['user.joined'] }, 10],
    ['by a kind that none has', { events: ['sprint.started'] }, 0],
    ['by several kinds', { events: ['user.joined', 'issue.updated'] }, PAGE + 1],
    ['by kind and status', { events: ['user.joined'], statuses: ['succeeded', 'failed'] }, 10],
    ['by time', day, PAGE + 1],
    ['by a time when there was nothing', { createdAfter: new Date('2027-01-01') }, 0],
    ['by time and status', { ...day, statuses: ['skipped'] }, 17],
    ['by a word that few events have', { text: 'zebra' }, 20],
    ['by a word that no event has', { text: 'giraffe' }, 0],
    ['by a word that all events have', { text: 'issue.created' }, PAGE + 1],
    ['by the beginning of a word', { text: 'title123' }, PAGE + 1],
    ['by a word and a status', { text: 'issue.created', statuses: ['failed'] }, 10],
    ['by an id that is none', { text: randomUUID() }, 0],
  ];
  for (const [title, filter, count] of CASES) {
    it(`gives a page ${title} by its indexes`, async () => {
      const rows = await listDeliveries(database, whole(filter));
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
      assert.ok(seen < DELIVERIES / 50, `${seen} rows were looked at: ${names}`);
    });
  }

  it('finds one by its id', async () => {
    const [first] = await listDeliveries(database, whole({ cursor: '019b9000-0000-7000-8000-000000000000' }));
    const found = await listDeliveries(database, whole({ text: String(first?.id) }));
    assert.deepEqual(found, [first]);
  });

  it('gives every row once, page by page, while others arrive', async () => {
    const filter = { statuses: ['skipped', 'failed'] as const, limit: 200 };
    const { rows } = await sql<{ id: string }>`
      select id from deliveries where webhook_id = ${webhookId}::uuid and status in ('skipped', 'failed')
      order by id desc
    `.execute(queryBuilderOf(database));
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await listDeliveries(database, whole({ ...filter, cursor }));
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
