import { sql } from 'kysely';
import { MAX_ARTIFACTS } from '../../domain/common/limits.ts';
import type { ArtifactInfo } from '../../domain/tasks/artifact.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/** A stored document without its content. */
export type ArtifactRow = ArtifactInfo & {
  step_id: string;
  agent: string;
  /** SHA-256 of the content, hex. */
  sha256: string;
  created_at: Date;
};
export type NewArtifact = ArtifactRow & { executionId: string; content: Buffer };

/**
 * Stores a document of a run and replaces one of the same name. `full`: the run has reached its limit. `ended`: the run
 * has ended. `missing`: it was erased.
 */
export async function storeArtifact(
  database: Database,
  artifact: NewArtifact,
): Promise<'kept' | 'full' | 'ended' | 'missing'> {
  const { executionId, name } = artifact;
  return await database.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    // The lock serializes concurrent counts, and the end of the run waits for it.
    const locked = await sql<{ is_over: boolean }>`
      select completed_at is not null as is_over from task_runs where id = ${executionId}::uuid for no key update
    `.execute(db);
    const [run] = locked.rows;
    if (!run) return 'missing';
    if (run.is_over) return 'ended';
    const { rows } = await sql<{ others: number }>`
      select count(*)::integer as others from artifacts
      where execution_id = ${executionId}::uuid and name <> ${name}
    `.execute(db);
    if ((rows[0]?.others ?? 0) >= MAX_ARTIFACTS) return 'full';
    await sql`
      insert into artifacts (execution_id, name, step_id, agent, media_type, content, size, sha256, created_at)
      values (
        ${executionId}::uuid, ${name}, ${artifact.step_id}::uuid, ${artifact.agent}, ${artifact.media_type},
        ${artifact.content}, ${artifact.size}, ${artifact.sha256}, ${artifact.created_at.toISOString()}::timestamptz
      )
      on conflict (execution_id, name) do update set
        step_id = excluded.step_id, agent = excluded.agent, media_type = excluded.media_type,
        content = excluded.content, size = excluded.size, sha256 = excluded.sha256, created_at = excluded.created_at
    `.execute(db);
    return 'kept';
  });
}

/** Returns the documents of a run, in the order they were stored. */
export async function listArtifacts(database: Database, executionId: string): Promise<ArtifactRow[]> {
  const { rows } = await sql<Omit<ArtifactRow, 'created_at'> & { created_at: string }>`
    select name, step_id, agent, media_type, size, sha256, created_at from artifacts
    where execution_id = ${executionId}::uuid order by created_at, name
  `.execute(queryBuilderOf(database));
  return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }));
}

/** Returns a document with its content; null if there is none of that name. */
export async function findArtifact(
  database: Database,
  executionId: string,
  name: string,
): Promise<{ media_type: string; content: Buffer; sha256: string } | null> {
  const { rows } = await sql<{ media_type: string; content: Buffer; sha256: string }>`
    select media_type, content, sha256 from artifacts
    where execution_id = ${executionId}::uuid and name = ${name}
  `.execute(queryBuilderOf(database));
  return rows[0] ?? null;
}
