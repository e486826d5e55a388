import { z } from 'zod';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import {
  endOtherSessions,
  endSession,
  listSessions,
  type SessionRow,
} from '../../database/people/sessions.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage, pageOf, pageParameters, timestamp, uuid, uuidOut } from '../http/fields.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const session = z
  .strictObject({
    id: uuidOut,
    user_agent: z.string().nullable(),
    address: z.string().nullable(),
    created_at: timestamp,
    last_seen_at: timestamp,
    expires_at: timestamp,
    current: z.boolean().describe('Whether this request uses this session'),
  })
  .meta({ id: 'Session' });

/** Returns the routes that list and end the caller's sessions. */
export function sessionsRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/sessions',
      operationId: 'listSessions',
      tag: 'session',
      summary: 'List your sessions, newest first',
      access: { kind: 'person', least: 'viewer' },
      query: z.strictObject(pageParameters),
      responses: { 200: { description: 'A page of sessions', schema: pageOf(session) } },
      async handle({ caller, query: { limit = DEFAULT_PAGE, cursor } }) {
        const page = { userId: caller.userId, now: deps.clock(), cursor, limit: limit + 1 };
        const { rows, nextCursor } = cutPage(await listSessions(deps.database, page), limit);
        const data = rows.map((row) => present(row, caller.sessionId));
        return { status: 200, body: { data, next_cursor: nextCursor } };
      },
    }),
    route({
      method: 'delete',
      path: '/api/v1/sessions',
      operationId: 'endOtherSessions',
      tag: 'session',
      summary: 'End all your other sessions',
      access: { kind: 'person', least: 'viewer' },
      responses: {
        200: {
          description: 'Number of ended sessions',
          schema: z.strictObject({ ended: z.int() }).meta({ id: 'SessionsEnded', example: { ended: 2 } }),
        },
      },
      async handle({ caller: { userId, workspaceId, sessionId: keptId } }) {
        const which = { keptId, userId, workspaceId, now: deps.clock() };
        return { status: 200, body: { ended: await endOtherSessions(deps.database, which) } };
      },
    }),
    route({
      method: 'delete',
      path: '/api/v1/sessions/{id}',
      operationId: 'endSession',
      tag: 'session',
      summary: 'End one of your sessions',
      access: { kind: 'person', least: 'viewer' },
      params: z.strictObject({ id: uuid }),
      responses: { 204: { description: 'Ended' } },
      async handle({ caller: { userId, workspaceId }, params: { id } }) {
        const ended = await endSession(deps.database, { id, userId, workspaceId, now: deps.clock() });
        if (!ended) throw notFound('session');
        return { status: 204 };
      },
    }),
  ];
}

function present(row: SessionRow, currentId: string) {
  return {
    id: row.id,
    user_agent: row.user_agent ?? null,
    address: row.address ?? null,
    created_at: row.created_at.toISOString(),
    last_seen_at: row.last_seen_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    current: row.id === currentId,
  };
}
