import { sql } from 'kysely';
import type { InferEntity } from '@mikro-orm/core';
import { ROLES, hasRole } from '../../domain/people/access.ts';
import { NOTICES, subjectOf, type NoticeKind, type Occasion } from '../../domain/people/notice.ts';
import { FIRST_QUESTION } from '../../domain/tasks/run-state.ts';
import type { EntityManager } from './audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { Notification } from './entities.ts';

export type NoticeRow = InferEntity<typeof Notification>;

/** Owner of notices: a person in a workspace. */
export type NoticeOwner = { userId: string; workspaceId: string };

/** Returns a page of a person's notices, newest first. */
export async function listNotices(
  database: Database,
  page: NoticeOwner & { unread: boolean; cursor?: string | undefined; limit: number },
): Promise<NoticeRow[]> {
  return await database.em.fork().find(
    Notification,
    {
      user_id: page.userId,
      workspace_id: page.workspaceId,
      ...(page.unread ? { read_at: null } : {}),
      ...(page.cursor ? { id: { $lt: page.cursor } } : {}),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
}

/**
 * Marks a notice as read and returns it. A notice that was read before keeps its time. Returns null if the person has
 * no such notice.
 */
export async function readNotice(
  database: Database,
  { id, userId, workspaceId, now }: NoticeOwner & { id: string; now: Date },
): Promise<NoticeRow | null> {
  const em = database.em.fork();
  const own = { id, user_id: userId, workspace_id: workspaceId };
  await em.nativeUpdate(Notification, { ...own, read_at: null }, { read_at: now });
  return await em.findOne(Notification, own);
}

/**
 * Condition for a notice `n` about something that still needs a person: the question is open, the escalated run has not
 * been rerun, or the webhook exists and is still disabled.
 */
const isOpen = sql<boolean>`case n.kind
  when 'task.asked' then exists (
    select from task_runs r where r.id = split_part(n.subject, ':', 2)::uuid
      and r.state = 'paused' and r.question is not null
      and coalesce(r.question ->> 'id', ${FIRST_QUESTION}) = n.detail ->> 'question_id')
  when 'task.escalated' then exists (
    select from task_runs r where r.id = split_part(n.subject, ':', 2)::uuid and r.state = 'escalated'
      and not exists (select from task_runs later where later.rerun_of = r.id))
  when 'webhook.disabled' then exists (
    select from webhooks w where w.id = split_part(n.subject, ':', 2)::uuid and w.disabled_at = n.created_at and w.deleted_at is null)
  else false end`;

/** Returns the ids of those notices that are about something that still needs a person. */
export async function findOpenNotices(
  database: Database,
  notices: readonly Pick<NoticeRow, 'id'>[],
): Promise<ReadonlySet<string>> {
  if (notices.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    select n.id from notifications n where n.id = any(${notices.map(({ id }) => id)}::uuid[]) and ${isOpen}
  `.execute(queryBuilderOf(database));
  return new Set(rows.map(({ id }) => id));
}

/** Marks all notices of a person as read. Returns how many were unread. */
export async function readAllNotices(
  database: Database,
  { userId, workspaceId, now }: NoticeOwner & { now: Date },
): Promise<number> {
  const unread = { user_id: userId, workspace_id: workspaceId, read_at: null };
  return await database.em.fork().nativeUpdate(Notification, unread, { read_at: now });
}

/** A notice without a mail, with the data for the mail. */
export type UnmailedNotice = {
  id: string;
  email: string;
  /** The person's own name. */
  person: string;
  workspace: string;
  detail: Record<string, unknown>;
};

/**
 * Passes the next notice without a mail to `mail`, and marks it as mailed once that resolves. Returns false if none is
 * left. The notice stays locked, so that nobody else mails it too. Skips notices in `except`, people without the
 * required role, and questions that are answered.
 * @throws what `mail` throws; the notice stays without a mail
 */
export async function mailNextNotice(
  database: Database,
  occasion: Occasion & { except: readonly string[] },
  mail: (notice: UnmailedNotice) => Promise<void>,
  clock: () => Date,
): Promise<boolean> {
  return await database.em.fork().transactional(async (em) => {
    const notice = await lockUnmailed(em, occasion);
    if (notice === null) return false;
    await mail(notice);
    await em.nativeUpdate(Notification, { id: notice.id }, { emailed_at: clock() });
    return true;
  });
}

async function lockUnmailed(
  em: EntityManager,
  { kind, id, at, except }: Occasion & { except: readonly string[] },
): Promise<UnmailedNotice | null> {
  const roles = ROLES.filter((role) => hasRole(role, NOTICES[kind].least));
  const { rows } = await sql<UnmailedNotice>`
    select n.id, u.email, u.name as person, w.name as workspace, n.detail
    from notifications n
      join users u on u.id = n.user_id
      join workspaces w on w.id = n.workspace_id
      join members m on m.user_id = n.user_id and m.workspace_id = n.workspace_id
    where n.created_at = ${at.toISOString()}::timestamptz
      and n.kind = ${kind} and n.subject = ${subjectOf({ kind, id })}
      and (n.kind <> 'task.asked' or ${isOpen})
      and n.emailed_at is null and m.role = any(${roles}::text[])
      and n.id <> all(${[...except]}::uuid[])
    order by n.id limit 1
    for update of n skip locked
  `.execute(em.getKysely());
  return rows[0] ?? null;
}

/** Returns occasions of this time span whose mails were not started, oldest first. */
export async function listUnmailedOccasions(
  database: Database,
  { after, before, limit }: { after: Date; before: Date; limit: number },
): Promise<Occasion[]> {
  const { rows } = await sql<{ kind: NoticeKind; subject: string; created_at: string }>`
    select distinct created_at, kind, subject from notifications
    where created_at > ${after.toISOString()}::timestamptz and created_at < ${before.toISOString()}::timestamptz
      and kind = any(${Object.keys(NOTICES)}::text[]) and emailed_at is null and mail_started_at is null
    order by created_at, kind, subject limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ kind, subject, created_at }) => ({
    kind,
    id: subject.slice(subject.indexOf(':') + 1),
    at: new Date(created_at),
  }));
}

/** Records that a workflow mails the notices of an occasion, or has found that nobody needs a mail. */
export async function markMailsStarted(
  database: Database,
  { kind, id, at }: Occasion,
  now: Date,
): Promise<void> {
  await database.em
    .fork()
    .nativeUpdate(
      Notification,
      { kind, subject: subjectOf({ kind, id }), created_at: at, mail_started_at: null },
      { mail_started_at: now },
    );
}
