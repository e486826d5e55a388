import { statements, type Database } from './database.ts';
import { MIGRATIONS } from './migrations/all.ts';
import { sql } from 'kysely';

/** The database's schema and this version of the code don't go together. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/** In the name of a migration that takes away what the version before still uses. */
const CONTRACT = 'Contract';

/**
 * Makes sure that this version of the code can work on the database's schema. One that is newer will do, as long as it
 * was only added to.
 * @throws SchemaError with what to do where migrations are missing, or the code is too old
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
  const builder = statements(database);
  const there = await sql<{ table: string | null }>`select to_regclass('migrations')::text as table`.execute(
    builder,
  );
  if (there.rows[0]?.table == null) return [];
  const { rows } = await sql<{ name: string }>`select name from migrations order by id`.execute(builder);
  return rows.map(({ name }) => name);
}
