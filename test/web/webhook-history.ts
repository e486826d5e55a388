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
  const attempts = hours.flatMap(({ ago, succeeded, failed, tookMs }) => {
    const at = new Date(Date.now() - ago * HOUR_MS);
    return Array.from({ length: succeeded + failed }, (_, index) => ({
      id: derivedUuid(at, randomUUID()),
      at,
      took: tookMs,
      total: tookMs + index,
      response: index < failed ? 503 : 200,
      failure: index < failed ? 'status' : null,
    }));
  });
  await sql`
    with attempt as materialized (
      select * from json_to_recordset(${JSON.stringify(attempts)}::json)
        as attempt(id uuid, at timestamptz, took integer, total integer, response integer, failure text)
    ), delivery as (
      insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
        response_status, failure, response_ms, created_at, updated_at)
      select id, ${world.installation.workspace_id}::uuid, ${webhookId}::uuid, 0, 'evt_' || id, 'issue.created',
        case when failure is null then 'succeeded' else 'failed' end, 1, response, failure, took, at, at
      from attempt
    )
    insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers, response_status,
      failure, response_ms, timings)
    select id, 1, 'automatic', at, 'https://example.com/', '{}', response, failure, total,
      json_build_object('lookup_ms', null, 'connect_ms', null, 'tls_ms', null, 'first_byte_ms', null, 'total_ms', total)
    from attempt
  `.execute(queryBuilderOf(world.database));
}

/** Returns 24 hours of varying load, with one failing hour. */
export function usualDay(badHour: number | null): Hour[] {
  return Array.from({ length: 24 }, (_, index) => {
    const ago = 23.5 - index;
    const busy = Math.round(3 + 2 * Math.sin(index / 3) + (index % 4));
    const isBad = badHour !== null && Math.floor(ago) === badHour;
    return { ago, succeeded: busy, failed: isBad ? busy : 0, tookMs: isBad ? 900 : 30 + 7 * (index % 5) };
  });
}
