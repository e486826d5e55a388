import type { Client } from 'pg';

/** The objects of a schema by name, each with everything that affects statements. */
export type Catalog = {
  /** `table.column` → type, and whether an insert may omit it. */
  columns: ReadonlyMap<string, { type: string; mayBeLeftOut: boolean; isNullable: boolean }>;
  /** `table.name` → definition, for constraints of tables and of column types. */
  constraints: ReadonlyMap<string, string>;
  /** `table.name` → whether it is unique. */
  indexes: ReadonlyMap<string, { isUnique: boolean }>;
  /** Views, functions, triggers, sequences, types, by kind and name → definition. */
  others: ReadonlyMap<string, string>;
  /** `table` → the file with its rows; a new one after the table was rewritten. */
  files: ReadonlyMap<string, string>;
};

/** A row of one of the queries below: a name and a value. */
type Row = {
  name: string;
  type: string;
  needed: boolean;
  nullable: boolean;
  definition: string;
  is_unique: boolean;
  file: string;
};

/** Reads the catalog of the schema `public`. */
export async function readCatalog(client: Client): Promise<Catalog> {
  const map = async <T>(text: string, of: (row: Row) => T) =>
    new Map((await client.query<Row>(text)).rows.map((row) => [row.name, of(row)] as const));
  return {
    columns: await map(
      `select c.relname || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
         not a.attnotnull as nullable,
         a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = '' as needed
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where ${OURS} and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped`,
      ({ type, needed, nullable }) => ({ type, mayBeLeftOut: !needed, isNullable: nullable }),
    ),
    constraints: await map(
      `select c.relname || '.' || k.conname as name, pg_get_constraintdef(k.oid) as definition
       from pg_constraint k join pg_class c on c.oid = k.conrelid where ${OURS} and k.contype <> 'n'`,
      ({ definition }) => definition,
    ),
    indexes: await map(
      `select t.relname || '.' || c.relname as name, i.indisunique as is_unique
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid where ${OURS}`,
      (row) => ({ isUnique: row.is_unique }),
    ),
    others: await map(
      `select 'view ' || c.relname as name, pg_get_viewdef(c.oid) as definition
         from pg_class c where ${OURS} and c.relkind in ('v', 'm')
       union all select 'sequence ' || c.relname, '' from pg_class c where ${OURS} and c.relkind = 'S'
       union all select 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
         pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'public'::regnamespace
       union all select 'trigger ' || t.tgname || ' on ' || c.relname, pg_get_triggerdef(t.oid)
         from pg_trigger t join pg_class c on c.oid = t.tgrelid where ${OURS} and not t.tgisinternal
       union all select 'type ' || t.typname, coalesce(
           (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid), '')
         from pg_type t where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')`,
      ({ definition }) => definition,
    ),
    files: await map(
      `select c.relname as name, c.relfilenode::text as file from pg_class c where ${OURS} and c.relkind in ('r', 'p')`,
      ({ file }) => file,
    ),
  };
}

const OURS = "c.relnamespace = 'public'::regnamespace and c.relname not in ('migrations', 'migrations_pkey')";

/**
 * Returns the parts of a schema change that are not safe while the previous version runs: everything but additions that its
 * statements do not notice. `lock`: nobody can write to a table until the change is done. One sentence for each.
 */
export function harmsOf(before: Catalog, after: Catalog): string[] {
  const isOld = (name: string) => before.files.has(name.split('.')[0] ?? '');
  const harms: string[] = [];
  for (const [name, was] of before.columns) {
    const is = after.columns.get(name);
    if (is === undefined) harms.push(`column ${name} is gone`);
    else if (is.type !== was.type) harms.push(`column ${name} changes its type to ${is.type}`);
    else if (was.mayBeLeftOut && !is.mayBeLeftOut) harms.push(`column ${name} may not be left out any more`);
    else if (was.isNullable && !is.isNullable) harms.push(`column ${name} may not be null any more`);
    else if (!was.isNullable && is.isNullable)
      harms.push(`column ${name} may be null, which its readers don't expect`);
  }
  for (const [name, { mayBeLeftOut }] of after.columns)
    if (isOld(name) && !before.columns.has(name) && !mayBeLeftOut)
      harms.push(`column ${name} is new and needed`);
  for (const [name, definition] of before.constraints) {
    const is = after.constraints.get(name);
    if (is === undefined && isUniqueKey(definition)) harms.push(`constraint ${name} is gone`);
    if (is !== undefined && is !== definition) harms.push(`constraint ${name} is another one`);
  }
  for (const [name, definition] of after.constraints) {
    if (isOld(name) && !before.constraints.has(name)) harms.push(`constraint ${name} is new: ${definition}`);
  }
  for (const [name, { isUnique }] of before.indexes)
    if (isUnique && !after.indexes.has(name)) harms.push(`unique index ${name} is gone`);
  for (const [name, { isUnique }] of after.indexes)
    if (isOld(name) && !before.indexes.has(name) && isUnique) harms.push(`index ${name} is new and unique`);
  for (const [name, definition] of before.others) {
    const is = after.others.get(name);
    if (is === undefined) harms.push(`${name} is gone`);
    else if (is !== definition) harms.push(`${name} is another one`);
  }
  for (const [name] of after.others) {
    const table = / on (.+)$/.exec(name)?.[1];
    if (table !== undefined && before.files.has(table) && !before.others.has(name))
      harms.push(`${name} is new`);
  }
  for (const [name, file] of after.files)
    if (before.files.has(name) && before.files.get(name) !== file) harms.push(`lock: ${name} is rewritten`);
  return harms;
}

/** `on conflict` requires the index that it names. */
function isUniqueKey(definition: string): boolean {
  return /^(UNIQUE|PRIMARY KEY)/.test(definition);
}
