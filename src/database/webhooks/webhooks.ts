import { LockMode, type InferEntity } from '@mikro-orm/core';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import type { AuditAction } from '../../domain/people/audit-actions.ts';
import { recordAudit, type EntityManager } from '../people/audit.ts';
import type { Database, WithChange } from '../database.ts';
import { Webhook } from './entities.ts';
import { notifyListenerOfEnd } from './listeners.ts';
import { lockByName } from '../common/lock.ts';
import { retryOnDeadlock } from '../common/outage.ts';
import { REST } from '../common/batches.ts';
import { holdOrCancelWaiting } from './waiting-deliveries.ts';
import { notifyWebhookChanged } from './watched-webhooks.ts';

export type WebhookRow = InferEntity<typeof Webhook>;

/** The columns of a new webhook. `secret` is sealed. All other columns start empty. */
export type NewWebhook = {
  id: string;
  name: string;
  description?: string | null;
  url: string;
  events: Subscription[];
  secret: string | null;
  include_secret_header: boolean;
  standard_webhooks: boolean;
  active: boolean;
  /** For webhooks with a listener: until when a listener is certain. */
  listening_until?: Date;
};

/** Columns of a webhook that a person may change. */
export type WebhookChange = {
  [Name in Exclude<keyof NewWebhook, 'id' | 'listening_until'>]?: NewWebhook[Name] | undefined;
};

const CHANGEABLE_FIELDS = [
  'name',
  'description',
  'url',
  'events',
  'secret',
  'include_secret_header',
  'standard_webhooks',
  'active',
] as const satisfies readonly (keyof WebhookChange)[];

/** The actor, the workspace and the time of a change. */
type ChangeContext = { workspaceId: string; actor: string; now: Date };
type Which = ChangeContext & { id: string };

/** Returns a page of a workspace's webhooks, newest first, without deleted ones. */
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

/** Returns a webhook of a workspace, or null. `deleted: true` also finds deleted ones, for their log. */
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
 * Stores a webhook and its audit entry. Returns `'full'` if the workspace has `most` webhooks already. If the id exists
 * because the request was repeated, returns the existing webhook.
 */
export async function createWebhook(
  database: Database,
  plan: ChangeContext & { webhook: NewWebhook; most: number },
): Promise<WebhookRow | 'full'> {
  const { workspaceId, actor, now, webhook, most } = plan;
  return await database.em.fork().transactional(async (em) => {
    // The lock serializes creations, so that the limit holds.
    await lockByName(em, `webhooks ${workspaceId}`);
    const earlier = await em.findOne(Webhook, { workspace_id: workspaceId, id: webhook.id });
    if (earlier) return earlier;
    if ((await em.count(Webhook, { workspace_id: workspaceId, deleted_at: null })) >= most) return 'full';
    const row = em.create(Webhook, {
      ...webhook,
      description: webhook.description ?? null,
      workspace_id: workspaceId,
      previous_secret: null,
      previous_secret_until: null,
      consecutive_failures: 0,
      enabled_count: 0,
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
 * Changes a webhook. Returns null if there is none. `decide` gets the locked webhook, returns the change, and may
 * throw. A new secret replaces the old one immediately. Enabling an inactive or disabled webhook sets its failure count
 * to zero; failures of attempts that began before do not count.
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
    if (enabled) {
      Object.assign(row, { consecutive_failures: 0, disabled_at: null, disabled_reason: null });
      row.enabled_count += 1;
    }
    row.updated_at = which.now;
    await em.flush();
    if (enabled) await auditWebhook(em, which, row, 'webhook.enabled');
    const others = changed.filter((name) => !(enabled && name === 'active'));
    if (others.length > 0) await auditWebhook(em, which, row, 'webhook.changed', { changed: others });
    return row;
  });
}

/** Time for the cancellation of deliveries while the request to delete their webhook waits, in milliseconds. */
const CANCELLATION_MS = 2_000;

/**
 * Deletes a webhook: erases its secrets, then cancels its unsent deliveries for at most `maxMs`, and keeps its log. Returns
 * false if there is none.
 */
export async function deleteWebhook(
  database: Database,
  which: Which,
  maxMs = CANCELLATION_MS,
): Promise<boolean> {
  if (!(await deleteWebhookOnly(database, which, () => true))) return false;
  // The webhook is deleted. The reconciler cancels the other deliveries, also after an error.
  await holdOrCancelWaiting(database, which.id, { rest: REST.whileRequestWaits, maxMs }).catch(() => {});
  return true;
}

/**
 * Deletes a webhook like {@link deleteWebhook}, but leaves its unsent deliveries to the reconciler. Returns false if there
 * is none, or `canDelete` returns false for the locked webhook.
 */
export async function deleteWebhookOnly(
  database: Database,
  which: Which,
  canDelete: (row: WebhookRow) => boolean,
): Promise<boolean> {
  const deleted = await withLockedWebhook(database, which, async (em, row) => {
    if (!canDelete(row)) return false;
    Object.assign(row, { secret: null, previous_secret: null, previous_secret_until: null, active: false });
    row.deleted_at = row.updated_at = which.now;
    await em.flush();
    if (row.listening_until) await notifyListenerOfEnd(em, row.id);
    await auditWebhook(em, which, row, 'webhook.deleted');
    return true;
  });
  return deleted ?? false;
}

/**
 * Replaces the secret of a webhook. The old one also signs until `previousUntil`, if that is not null. `seal` gets the
 * locked webhook and may throw, and so may `withChange`. Returns null if there is none.
 */
export async function rotateSecret(
  database: Database,
  which: Which & { previousUntil: Date | null; withChange?: WithChange<WebhookRow> | undefined },
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
    await which.withChange?.(em, row);
    return row;
  });
}

/**
 * Runs `work` in a short transaction that locks the webhook, and notifies watchers. Returns null if there is none.
 * Results of attempts wait for the lock, so changes of many deliveries do not belong here. A deadlock is repeated.
 */
export async function withLockedWebhook<T>(
  database: Database,
  which: { workspaceId: string; id: string },
  work: (em: EntityManager, row: WebhookRow) => Promise<T>,
): Promise<T | null> {
  return await retryOnDeadlock(() =>
    database.em.fork().transactional(async (em) => {
      const row = await em.findOne(
        Webhook,
        { workspace_id: which.workspaceId, id: which.id, deleted_at: null },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      if (!row) return null;
      const done = await work(em, row);
      await notifyWebhookChanged(em, row.id);
      return done;
    }),
  );
}

/** Writes an audit entry with the names of changed fields; never a secret, nor a URL, which may contain one. */
async function auditWebhook(
  em: EntityManager,
  { workspaceId, actor, now }: ChangeContext,
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
