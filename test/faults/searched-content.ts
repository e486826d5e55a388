import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../../dev/services/postgres.ts';
import { withTemporal, type Service } from '../support/service.ts';
import type { Place } from './secret-search.ts';

/** Returns everything that the service has stored: the histories of these workflows, all tables and all files. */
export async function storedContent(service: Service, ids: readonly string[]): Promise<Place[]> {
  return [
    ...(await historiesOf(service, ids)),
    ...(await databaseDump(service.databaseUrl)),
    ...filesBelow(service.folder),
  ];
}

/** Returns the histories and descriptions of these runs in Temporal, with payloads as their bytes. */
async function historiesOf(service: Service, ids: readonly string[]): Promise<Place[]> {
  return await withTemporal(service, ({ workflow }) =>
    Promise.all(
      ids.map(async (id) => {
        const handle = workflow.getHandle(id);
        const contents = [await handle.fetchHistory(), (await handle.describe()).raw];
        return { name: `history of ${id}`, content: Buffer.concat([...contentsOf(contents)]) };
      }),
    ),
  );
}

/** Yields all texts and bytes in a value, each followed by a line break. */
function* contentsOf(value: unknown): Generator<Buffer> {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    yield Buffer.from(value as string);
    yield Buffer.from('\n');
  } else if (value !== null && typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      yield Buffer.from(`${name}\n`);
      yield* contentsOf(member);
    }
  }
}

/** Returns all responses about these runs, including headers. */
export async function responsesAbout(service: Service, ids: readonly string[]): Promise<Place[]> {
  const paths = [
    '/api/v1/tasks?limit=200',
    '/health/ready',
    '/api/v1/openapi.json',
    ...ids.flatMap((id) => ['', '/events', '/callbacks'].map((rest) => `/api/v1/tasks/${id}${rest}`)),
  ];
  const places: Place[] = [];
  for (const path of paths) {
    const { status, headers, text } = await service.send('GET', path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    const content = Buffer.from(`${JSON.stringify([...headers])}\n${text}`);
    places.push({ name: `answer of ${path}`, content });
  }
  return places;
}

/** Returns every table of a database as text. */
async function databaseDump(databaseUrl: string): Promise<Place[]> {
  return await withClient(databaseUrl, async (client) => {
    const tables = await client.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
    );
    const places: Place[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      places.push({ name: `table ${name}`, content: Buffer.from(rows.map(({ row }) => row).join('\n')) });
    }
    return places;
  });
}

/** Returns every file of the service: logs, Temporal's database and PostgreSQL's data files. */
function filesBelow(folder: string): Place[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((path) => {
      const content = contentIfThere(path);
      return content === null ? [] : [{ name: `file ${path}`, content }];
    });
}

/** Returns the content of a file; null if the running service has removed it since it was listed. */
function contentIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
