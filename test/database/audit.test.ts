import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { listAudit } from '../../src/database/people/audit.ts';
import { useInstallation } from '../support/installation.ts';
import { readsOf } from '../support/table-reads.ts';

const ENTRIES = 20_000;
const BEGUN = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;

/** Returns the time of an entry. The first one has number 1. */
const timeOf = (number: number) => new Date(BEGUN + number * MINUTE_MS);

describe('the audit log with 20,000 entries', () => {
  const fresh = useInstallation({ poolSize: 1 });

  it('reads few entries for those of a short time', async () => {
    const { workspace_id: workspaceId } = fresh.installation;
    const db = queryBuilderOf(fresh.database);
    const readSoFar = async () => {
      const { unindexed, indexed } = await readsOf(fresh.database, 'audit_log');
      return unindexed + indexed;
    };
    await sql`delete from audit_log`.execute(db);
    await sql`
      insert into audit_log (id, workspace_id, actor, action, subject, at)
      select (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
        ${workspaceId}::uuid, 'system', 'key.created', 'key:' || n, to_timestamp(ms / 1000.0)
      from generate_series(1, ${ENTRIES}) n, lateral (select ${BEGUN} + n * ${MINUTE_MS}::bigint as ms) t
    `.execute(db);
    await sql`vacuum analyze audit_log`.execute(db);
    const before = await readSoFar();
    const found = await listAudit(fresh.database, {
      workspaceId,
      createdAfter: timeOf(ENTRIES - 2),
      limit: 51,
    });
    const read = (await readSoFar()) - before;
    assert.deepEqual(
      found.map(({ subject }) => subject),
      [0, 1, 2].map((index) => `key:${ENTRIES - index}`),
    );
    assert.ok(read < 200, `${read} entries were read`);
  });
});
