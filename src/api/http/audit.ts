import { recordAudit, type NewAuditEntry } from '../../database/people/audit.ts';
import type { Dependencies } from '../dependencies.ts';

/** An audit entry of a request, without its time. */
type Entry = Omit<NewAuditEntry, 'at'>;

/** Writes an audit entry of a request that changes nothing else in the database. */
export async function recordRequest(
  { database, clock }: Pick<Dependencies, 'database' | 'clock'>,
  entry: Entry,
): Promise<void> {
  await recordAudit(database.em.fork(), { ...entry, at: clock() });
}

/** Writes an audit entry that must not fail the request. Never rejects: a failure is logged. */
export async function tryToRecordRequest(
  deps: Pick<Dependencies, 'database' | 'clock' | 'log'>,
  entry: Entry,
): Promise<void> {
  try {
    await recordRequest(deps, entry);
  } catch (error) {
    deps.log.warn({ err: error, action: entry.action }, 'writing an audit entry failed');
  }
}
