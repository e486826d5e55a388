import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import type { World } from '../support/world.ts';

const HOUR_MS = 3_600_000;

/** The attempts of a webhook in one hour of its last day. */
type Hour = { ago: number; succeeded: number; failed: number; tookMs: number };

/** Inserts attempts of past hours for a webhook. */
export async function withHistory(world: World, webhookId: string, hours: readonly Hour[]): Promise<void> {
  const database = queryBuilderOf(world.database);
  for (const { ago, succeeded, failed, tookMs } of hours) {
    const at = new Date(Date.now() - ago * HOUR_MS);
    for (let count = 0; count < succeeded + failed; count += 1) {
      const failure = count < failed ? 'status' : null;
      const id = derivedUuid(at, randomUUID());
      const timings = JSON.stringify({ ...UNTIMED, total_ms: tookMs + count });
      await sql`
        with delivery as (
          insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
            response_status, failure, response_ms, created_at, updated_at)
          values (${id}, ${world.installation.workspace_id}, ${webhookId}, 0, ${`evt_${id}`}, 'issue.created',
            ${failure ? 'failed' : 'succeeded'}, 1, ${failure ? 503 : 200}, ${failure}, ${tookMs}, ${at.toISOString()},
            ${at.toISOString()})
        )
        insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers, response_status,
          failure, response_ms, timings)
        values (${id}, 1, 'automatic', ${at.toISOString()}, 'https://example.com/', '{}', ${failure ? 503 : 200},
          ${failure}, ${tookMs + count}, ${timings})
      `.execute(database);
    }
  }
}

/** The timings of attempts with only a total. */
const UNTIMED = { lookup_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null };

/** Returns 24 hours of varying load, with one failing hour. */
export function usualDay(badHour: number | null): Hour[] {
  return Array.from({ length: 24 }, (_, index) => {
    const ago = 23.5 - index;
    const busy = Math.round(3 + 2 * Math.sin(index / 3) + (index % 4));
    const isBad = badHour !== null && Math.floor(ago) === badHour;
    return { ago, succeeded: busy, failed: isBad ? busy : 0, tookMs: isBad ? 900 : 30 + 7 * (index % 5) };
  });
}
