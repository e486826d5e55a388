import { sql } from 'kysely';
import { abandonedBefore, type Claim } from '../../domain/common/idempotency.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/**
 * Replaces an interrupted request by the one with this claim. Returns false if another request has replaced it in the
 * meantime, or has finished.
 */
export async function takeOverClaim(database: Database, claim: Claim & { takenAt: Date }): Promise<boolean> {
  const { scope, key, claimedAt, takenAt } = claim;
  const { numAffectedRows } = await sql`
    update idempotency_keys set taken_at = ${takenAt.toISOString()}::timestamptz
    where project_id = ${scope}::uuid and key = ${key} and answer is null
      and created_at = ${claimedAt.toISOString()}::timestamptz
      and greatest(taken_at, created_at) <= ${abandonedBefore(takenAt).toISOString()}::timestamptz
  `.execute(queryBuilderOf(database));
  return numAffectedRows === 1n;
}

/**
 * Stores the sealed first response in the transaction of the change. Returns false if another request has replaced the one
 * with this claim; the transaction must then be rolled back.
 */
export async function storeAnswerWithChange(
  em: Database['em'],
  { scope, key, claimedAt, takenAt }: Claim,
  answer: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update idempotency_keys set answer = ${answer}
    where project_id = ${scope}::uuid and key = ${key} and answer is null
      and created_at = ${claimedAt.toISOString()}::timestamptz
      and greatest(taken_at, created_at) = ${(takenAt ?? claimedAt).toISOString()}::timestamptz
  `.execute(em.getKysely());
  return numAffectedRows === 1n;
}
