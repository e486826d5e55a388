import { z } from 'zod';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import {
  findOpenNotices,
  listNotices,
  readAllNotices,
  readNotice,
  type NoticeRow,
} from '../../database/people/notices.ts';
import type { PersonCaller } from '../http/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage, pageOf, pageParameters, timestamp, uuid, uuidOut } from '../http/fields.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const PATH = '/api/v1/notifications';
const access = { kind: 'person', least: 'viewer' } as const;
const tag = 'notification';

const notice = z
  .strictObject({
    id: uuidOut,
    kind: z
      .string()
      .describe(
        '`webhook.disabled`: a webhook was disabled after repeated failures; `task.escalated`: a task needs a human decision; `task.asked`: an agent has asked a question',
      ),
    subject: z.string().describe('Subject: `webhook:<id>` or `task:<execution id>`'),
    detail: z.record(z.string(), z.unknown()),
    created_at: timestamp,
    read_at: timestamp.nullable(),
    open: z
      .boolean()
      .describe(
        'Whether it still needs a person: the webhook is disabled, the escalated task was not rerun, the question is not answered',
      ),
  })
  .meta({ id: 'Notification' });
const noticePage = pageOf(notice).meta({ id: 'NotificationPage' });

const listParameters = z.strictObject({
  ...pageParameters,
  unread: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .describe('`true`: only unread notifications'),
});

/** Returns the routes that list a user's notifications and mark them as read. */
export function notificationRoutes(deps: Dependencies): Route[] {
  return [list(deps), readAll(deps), read(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listNotifications',
    tag,
    summary: 'List your notifications, newest first',
    access,
    query: listParameters,
    responses: { 200: { description: 'A page of notifications', schema: noticePage } },
    async handle({ caller, query: { limit = DEFAULT_PAGE, cursor, unread = false } }) {
      const page = { ...ownerOf(caller), unread, cursor, limit: limit + 1 };
      const { rows, nextCursor } = cutPage(await listNotices(deps.database, page), limit);
      return { status: 200, body: { data: await present(deps, rows), next_cursor: nextCursor } };
    },
  });
}

function readAll(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/read-all`,
    operationId: 'readAllNotifications',
    tag,
    summary: 'Mark all notifications as read',
    access,
    responses: {
      200: {
        description: 'Number of notifications that were unread',
        schema: z.strictObject({ count: z.int() }).meta({ id: 'NotificationsRead' }),
      },
    },
    async handle({ caller }) {
      const count = await readAllNotices(deps.database, { ...ownerOf(caller), now: deps.clock() });
      return { status: 200, body: { count } };
    },
  });
}

function read(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/{id}/read`,
    operationId: 'readNotification',
    tag,
    summary: 'Mark a notification as read',
    access,
    params: z.strictObject({ id: uuid }),
    responses: {
      200: { description: 'The notification; `read_at` is the time of the first read', schema: notice },
    },
    async handle({ caller, params: { id } }) {
      const row = await readNotice(deps.database, { ...ownerOf(caller), id, now: deps.clock() });
      if (!row) throw notFound('notification');
      const [body] = await present(deps, [row]);
      return { status: 200, body };
    },
  });
}

function ownerOf({ userId, workspaceId }: PersonCaller) {
  return { userId, workspaceId };
}

async function present({ database }: Dependencies, rows: readonly NoticeRow[]) {
  const open = await findOpenNotices(database, rows);
  return rows.map(({ id, kind, subject, detail, created_at, read_at }) => ({
    id,
    kind,
    subject,
    detail,
    created_at: created_at.toISOString(),
    read_at: read_at?.toISOString() ?? null,
    open: open.has(id),
  }));
}
