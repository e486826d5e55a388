import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Temporal's default, with which a database file without a record was created. A power failure can empty a record. */
const UNRECORDED = 4;

/**
 * Returns the partitions of each task queue. A database file keeps the number that it was created with, recorded in a file
 * beside it: nothing reads the tasks that wait in a partition beyond a lower number.
 */
export function partitionsOf(dbFile: string | undefined, wanted: number): number {
  if (dbFile === undefined) return wanted;
  const record = `${dbFile}-partitions`;
  if (!existsSync(dbFile)) writeFileSync(record, String(wanted));
  const recorded = existsSync(record) ? Number(readFileSync(record, 'utf8')) : 0;
  return recorded || UNRECORDED;
}
