import { sql, type RawBuilder } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';
import { NIL } from './ids.ts';

/** A sealed value and its owner. */
export type SealedValue = { of: 'webhook' | 'run'; id: string; sealed: string };

/**
 * Returns one sealed value for each key that seals secrets of webhooks, and that of the newest run: enough to check the
 * configured keys.
 */
export async function readSealedSamples(database: Database): Promise<SealedValue[]> {
  const { rows } = await sql<SealedValue>`
    (select distinct on (split_part(sealed, '.', 2)) 'webhook' as "of", id, sealed
     from (select id, secret as sealed from webhooks where secret is not null
           union all
           select id, previous_secret from webhooks where previous_secret is not null) as webhook
     order by split_part(sealed, '.', 2), id desc)
    union all
    (select 'run', id, callback_secret from task_runs order by id desc limit 1)
  `.execute(queryBuilderOf(database));
  return rows;
}

/** The columns with sealed text. */
export const SEALED_COLUMNS = [
  'webhooks.secret',
  'webhooks.previous_secret',
  'task_runs.callback_secret',
  'push_configs.secrets',
  'idempotency_keys.answer',
] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** A sealed text and its row: an id, and for idempotency keys the caller's key. */
export type SealedText = { id: string; key: string; sealed: string };

/** Table, column and row key of each column, as an id and a text. */
const PLACES: Record<SealedColumn, { table: string; column: string; id: string; key: RawBuilder<string> }> = {
  'webhooks.secret': { table: 'webhooks', column: 'secret', id: 'id', key: sql`''` },
  'webhooks.previous_secret': { table: 'webhooks', column: 'previous_secret', id: 'id', key: sql`''` },
  'task_runs.callback_secret': { table: 'task_runs', column: 'callback_secret', id: 'id', key: sql`''` },
  'push_configs.secrets': {
    table: 'push_configs',
    column: 'secrets',
    id: 'execution_id',
    key: sql.ref('id'),
  },
  'idempotency_keys.answer': {
    table: 'idempotency_keys',
    column: 'answer',
    id: 'project_id',
    key: sql.ref('key'),
  },
};

/**
 * Returns the next `limit` texts of a column that are sealed with another key than `keyId`, in the order of their rows,
 * after the row `after`.
 */
export async function listSealedWithOtherKeys(
  database: Database,
  column: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: Pick<SealedText, 'id' | 'key'> | null; limit: number },
): Promise<SealedText[]> {
  const { table, column: name, id, key } = PLACES[column];
  const begin = after ?? { id: NIL, key: '' };
  const { rows } = await sql<SealedText>`
    select ${sql.ref(id)} as id, ${key} as key, ${sql.ref(name)} as sealed from ${sql.table(table)}
    where ${sql.ref(name)} is not null and split_part(${sql.ref(name)}, '.', 2) <> ${keyId}
      and (${sql.ref(id)}, ${key}) > (${begin.id}::uuid, ${begin.key}::text)
    order by 1, 2 limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows;
}

/** Replaces sealed texts by newly sealed ones if they have not changed. Returns the number of replaced texts. */
export async function replaceSealed(
  database: Database,
  column: SealedColumn,
  texts: readonly (SealedText & { resealed: string })[],
): Promise<number> {
  const { table, column: name, id, key } = PLACES[column];
  const of = (member: 'id' | 'key' | 'sealed' | 'resealed') => texts.map((text) => text[member]);
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set ${sql.ref(name)} = given.resealed
    from unnest(${of('id')}::uuid[], ${of('key')}::text[], ${of('sealed')}::text[], ${of('resealed')}::text[])
      as given (row_id, row_key, sealed, resealed)
    where ${sql.ref(id)} = given.row_id and ${key} = given.row_key and ${sql.ref(name)} = given.sealed
  `.execute(queryBuilderOf(database));
  return Number(numAffectedRows ?? 0);
}
