import { LockMode, type InferEntity } from '@mikro-orm/core';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import type { AuditAction } from '../../domain/people/audit-actions.ts';
import { recordAudit, type EntityManager } from '../people/audit.ts';
import type { Database } from '../database.ts';
import { Webhook } from './entities.ts';
import { notifyListenerOfEnd } from './listeners.ts';
import { isDeadlock } from '../common/outage.ts';
import { notifyWebhookChanged } from './watched-webhooks.ts';

export type WebhookRow = InferEntity<typeof Webhook>;

/** What a new webhook stores; `secret` is sealed. Everything else begins empty. */
export type NewWebhook = {
  id: string;
  name: string;
  url: string;
  events: Subscription[];
  secret: string | null;
  include_secret_header: boolean;
  standard_webhooks: boolean;
  active: boolean;
  /** For one whose deliveries go to a listener: until when there surely is one. */
  listening_until?: Date;
};

/** Members of a webhook that a person may change, as they are stored. */
export type WebhookChange = {
  [Name in Exclude<keyof NewWebhook, 'id' | 'listening_until'>]?: NewWebhook[Name] | undefined;
};

const CHANGEABLE_FIELDS = [
  'name',
  'url',
  'events',
  'secret',
  'include_secret_header',
  'standard_webhooks',
  'active',
] as const satisfies readonly (keyof WebhookChange)[];

/** Who does it, where and when. */
type By = { workspaceId: string; actor: string; now: Date };
type Which = By & { id: string };

/** A page of a workspace's webhooks, newest first; deleted ones are not there. */
export async function listWebhooks(
  database: Database,
  page: { workspaceId: string; cursor?: string | undefined; limit: number },
): Promise<WebhookRow[]> {
  return await database.em.fork().find(
    Webhook,
    {
      workspace_id: page.workspaceId,
      deleted_at: null,
      ...(page.cursor ? { id: { $lt: page.cursor } } : {}),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
}

/** One webhook of a workspace, or null; `deleted: true` finds deleted ones too, for their log's sake. */
export async function findWebhook(
  database: Database,
  which: { workspaceId: string; id: string; deleted?: boolean },
): Promise<WebhookRow | null> {
  const { workspaceId, id, deleted = false } = which;
  return await database.em
    .fork()
    .findOne(Webhook, { workspace_id: workspaceId, id, ...(deleted ? {} : { deleted_at: null }) });
}

/**
 * Stores a webhook and its audit entry; `'full'` where the workspace has `most` of them already. One that is there
 * under this id, from a request that was repeated, is answered as it is.
 */
export async function createWebhook(
  database: Database,
  plan: By & { webhook: NewWebhook; most: number },
): Promise<WebhookRow | 'full'> {
  const { workspaceId, actor, now, webhook, most } = plan;
  return await database.em.fork().transactional(async (em) => {
    // Those who make the last one that is allowed follow each other.
    await em.execute('select pg_advisory_xact_lock(hashtext(?))', [`baton webhooks ${workspaceId}`]);
    const earlier = await em.findOne(Webhook, { workspace_id: workspaceId, id: webhook.id });
    if (earlier) return earlier;
    if ((await em.count(Webhook, { workspace_id: workspaceId, deleted_at: null })) >= most) return 'full';
    const row = em.create(Webhook, {
      ...webhook,
      workspace_id: workspaceId,
      previous_secret: null,
      previous_secret_until: null,
      consecutive_failures: 0,
      disabled_at: null,
      disabled_reason: null,
      created_by: actor,
      created_at: now,
      updated_at: now,
      deleted_at: null,
      listening_until: webhook.listening_until ?? null,
    });
    await em.persist(row).flush();
    await auditWebhook(em, plan, row, 'webhook.created', { events: row.events.map(({ event }) => event) });
    return row;
  });
}

/**
 * Changes a webhook; null where there is none. `decide` sees it as it is, locked, says what changes, and may throw.
 * A new secret takes the place of the old one at once. Switching on one that was off or disabled sets its count of
 * failures to zero.
 */
export async function changeWebhook(
  database: Database,
  which: Which,
  decide: (row: WebhookRow) => WebhookChange,
): Promise<WebhookRow | null> {
  return await withLockedWebhook(database, which, async (em, row) => {
    const change = decide(row);
    const wasOn = row.active && row.disabled_at === null;
    const changed = CHANGEABLE_FIELDS.filter(
      (name) => change[name] !== undefined && differs(row[name], change[name]),
    );
    const enabled = change.active === true && !wasOn;
    if (changed.length === 0 && !enabled) return row;
    Object.assign(row, Object.fromEntries(changed.map((name) => [name, change[name]])));
    if (changed.includes('secret'))
      Object.assign(row, { previous_secret: null, previous_secret_until: null });
    if (enabled) Object.assign(row, { consecutive_failures: 0, disabled_at: null, disabled_reason: null });
    row.updated_at = which.now;
    await em.flush();
    if (enabled) await auditWebhook(em, which, row, 'webhook.enabled');
    const others = changed.filter((name) => !(enabled && name === 'active'));
    if (others.length > 0) await auditWebhook(em, which, row, 'webhook.changed', { changed: others });
    return row;
  });
}

/**
 * Deletes a webhook: its secrets are erased, what it had not sent yet is cancelled, and its log stays. False where
 * there is none, or `mayGo` says no when it sees it as it is, locked.
 */
export async function deleteWebhook(
  database: Database,
  which: Which,
  canDelete: (row: WebhookRow) => boolean = () => true,
): Promise<boolean> {
  const deleted = await withLockedWebhook(database, which, async (em, row) => {
    if (!canDelete(row)) return false;
    Object.assign(row, { secret: null, previous_secret: null, previous_secret_until: null, active: false });
    row.deleted_at = row.updated_at = which.now;
    await em.flush();
    await em.execute(
      `update deliveries
       set status = 'cancelled', reason = 'the webhook was deleted', in_backlog = false, next_attempt_at = null,
         generation = generation + 1, updated_at = ?
       where webhook_id = ? and status in ('pending', 'retrying', 'held')`,
      [which.now, row.id],
    );
    if (row.listening_until) await notifyListenerOfEnd(em, row.id);
    await auditWebhook(em, which, row, 'webhook.deleted');
    return true;
  });
  return deleted ?? false;
}

/**
 * Gives a webhook another secret; the one before signs too until `previousUntil`, where that is not null. `seal`
 * sees the webhook as it is, locked, and may throw. Null where there is none.
 */
export async function rotateSecret(
  database: Database,
  which: Which & { previousUntil: Date | null },
  seal: (row: WebhookRow) => string,
): Promise<WebhookRow | null> {
  return await withLockedWebhook(database, which, async (em, row) => {
    const secret = seal(row);
    const overlaps = row.secret !== null && which.previousUntil !== null;
    row.previous_secret = overlaps ? row.secret : null;
    row.previous_secret_until = overlaps ? which.previousUntil : null;
    row.secret = secret;
    row.updated_at = which.now;
    await em.flush();
    const until = row.previous_secret_until?.toISOString() ?? null;
    await auditWebhook(em, which, row, 'webhook.secret_rotated', { previous_until: until });
    return row;
  });
}

const TRIES = 3;

/**
 * Runs `work` in a transaction that holds the webhook, and tells who looks at it; null where there is none. Attempts that end meanwhile may lock
 * the same deliveries in another order, and each wait for the other: then it is done again.
 */
export async function withLockedWebhook<T>(
  database: Database,
  which: { workspaceId: string; id: string },
  work: (em: EntityManager, row: WebhookRow) => Promise<T>,
): Promise<T | null> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await database.em.fork().transactional(async (em) => {
        const row = await em.findOne(
          Webhook,
          { workspace_id: which.workspaceId, id: which.id, deleted_at: null },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        if (!row) return null;
        const done = await work(em, row);
        await notifyWebhookChanged(em, row.id);
        return done;
      });
    } catch (error) {
      if (tried === TRIES || !isDeadlock(error)) throw error;
    }
  }
}

/** Names and members that changed; never a secret, nor an address, which may hold one. */
async function auditWebhook(
  em: EntityManager,
  { workspaceId, actor, now }: By,
  row: WebhookRow,
  action: AuditAction,
  detail: Record<string, unknown> = {},
): Promise<void> {
  const subject = `webhook:${row.id}`;
  await recordAudit(em, {
    workspaceId,
    actor,
    action,
    subject,
    detail: { name: row.name, ...detail },
    at: now,
  });
}

function differs(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
