import { queryBuilderOf, type Database } from './database.ts';
import { MIGRATIONS } from './migrations/all.ts';
import { sql } from 'kysely';

/** The database schema is not compatible with this version of the code. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/** Part of the name of a migration that removes what the previous version still uses. */
const CONTRACT = 'Contract';

/**
 * Checks that this version can use the database schema. A newer schema is accepted if migrations only added to it.
 * @throws SchemaError with what to do if migrations are missing, or the code is too old
 */
export async function checkSchema(database: Database): Promise<void> {
  const applied = new Set(await appliedMigrations(database));
  const missing = MIGRATIONS.filter(({ name }) => !applied.has(name)).map(({ name }) => name);
  if (missing.length > 0) {
    throw new SchemaError(
      `the database lacks ${missing.length === MIGRATIONS.length ? 'its schema' : missing.join(', ')}: run \`baton admin migrate\` of this version first`,
    );
  }
  const known = new Set(MIGRATIONS.map(({ name }) => name));
  const tooNew = [...applied].find((name) => !known.has(name) && name.includes(CONTRACT));
  if (tooNew === undefined) return;
  throw new SchemaError(
    `the database is too new for this version: ${tooNew} removed what it needs. Start a newer version`,
  );
}

async function appliedMigrations(database: Database): Promise<string[]> {
  const builder = queryBuilderOf(database);
  const there = await sql<{ table: string | null }>`select to_regclass('migrations')::text as table`.execute(
    builder,
  );
  if (there.rows[0]?.table == null) return [];
  const { rows } = await sql<{ name: string }>`select name from migrations order by id`.execute(builder);
  return rows.map(({ name }) => name);
}
