import { sql } from 'kysely';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from '../common/prepared.ts';

/** A webhook with the data for deliveries. Secrets are sealed. */
export type WebhookTarget = {
  id: string;
  workspace_id: string;
  url: string;
  events: Subscription[];
  secret: string | null;
  previous_secret: string | null;
  previous_secret_until: Date | null;
  include_secret_header: boolean;
  standard_webhooks: boolean;
  active: boolean;
  consecutive_failures: number;
  /** How often it was enabled. */
  enabled_count: number;
  disabled_at: Date | null;
  deleted_at: Date | null;
  /** Not null if deliveries go to a listener on the channel. */
  listening_until: Date | null;
};

type Row = Omit<WebhookTarget, 'previous_secret_until' | 'disabled_at' | 'deleted_at' | 'listening_until'> & {
  previous_secret_until: string | null;
  disabled_at: string | null;
  deleted_at: string | null;
  listening_until: string | null;
};

const COLUMNS = sql.raw(
  `id, workspace_id, url, events, secret, previous_secret, previous_secret_until, include_secret_header,
   standard_webhooks, active, consecutive_failures, enabled_count, disabled_at, deleted_at, listening_until`,
);

/**
 * Returns all webhooks, except deleted ones, of the workspaces of the groups' events; by workspace, oldest first. The events
 * are read first: as part of the condition, PostgreSQL would read all events of each workspace until it finds one of the
 * groups.
 */
export async function listTargetsForGroups(
  database: Database,
  groupIds: readonly string[],
): Promise<Map<string, WebhookTarget[]>> {
  const statement = sql<Row>`
    with receiving as materialized (
      select distinct workspace_id from events where group_id = any(${groupIds}::uuid[])
    )
    select ${COLUMNS} from webhooks
    where workspace_id in (select workspace_id from receiving) and deleted_at is null
    order by id
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return Map.groupBy(rows.map(targetOf), ({ workspace_id: id }) => id);
}

/** Returns the current state of these webhooks by id, including deleted ones. */
export async function readTargets(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, WebhookTarget>> {
  const statement = sql<Row>`select ${COLUMNS} from webhooks where id = any(${ids}::uuid[])`.compile(
    queryBuilderOf(database),
  );
  const { rows } = await runPrepared(database, statement);
  return new Map(rows.map((row) => [row.id, targetOf(row)]));
}

function targetOf(row: Row): WebhookTarget {
  return {
    ...row,
    previous_secret_until: timeOf(row.previous_secret_until),
    disabled_at: timeOf(row.disabled_at),
    deleted_at: timeOf(row.deleted_at),
    listening_until: timeOf(row.listening_until),
  };
}

function timeOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
