import { findWorkspaceName, type NewEvent } from '../../database/webhooks/events.ts';
import type { Database } from '../../database/database.ts';
import type { Dependencies } from '../dependencies.ts';
import { unauthenticated } from '../http/authentication.ts';
import { route, type Route } from '../http/route.ts';
import { cloudEventBodies } from './cloud-events.ts';
import { prepareRequest } from './prepare.ts';
import { eventsBody, acceptedEvents } from './schema.ts';

/** How long workspace names are cached, in milliseconds. */
const CACHE_MS = 60_000;

/** Returns the route that accepts the events of a workspace (docs/events.md). */
export function eventRoutes(deps: Dependencies): Route[] {
  const nameOf = createWorkspaceNames(deps.database, deps.clock);
  return [
    route({
      method: 'post',
      path: '/api/v1/events',
      operationId: 'sendEvents',
      tag: 'event',
      summary: 'Send one event or up to 500 events',
      description:
        'All events are accepted or none. After the response, the events are stored durably and are delivered to all matching webhooks, even if Temporal is temporarily unavailable. An id that was already used with the same content is a duplicate and changes nothing. An id that was already used with different content is a conflict. After a 503 or without a response, send again with the same ids.',
      access: { kind: 'credential', scope: 'events:write' },
      limit: 'events',
      cost: ({ events }) => events.length,
      body: eventsBody,
      otherBodies: cloudEventBodies,
      responses: { 202: { description: 'Accepted and stored durably', schema: acceptedEvents } },
      problems: ['conflict'],
      async handle({ caller, body, text, traceparent }) {
        const workspace = { id: caller.workspaceId, name: await nameOf(caller.workspaceId) };
        const { sent, events } = await prepareRequest(body, text, workspace, deps.clock());
        await deps.admission.admit('events', events.length);
        const known = await deps.batcher.add(traceparent ? inTrace(events, traceparent) : events);
        const data = sent.map(({ id, repeated }) => ({ id, duplicate: repeated || known.has(id) }));
        deps.onEvents?.({ sent: data.length, duplicate: data.filter(({ duplicate }) => duplicate).length });
        return { status: 202, body: body.form === 'one' ? data[0] : { data } };
      },
    }),
  ];
}

function inTrace(events: readonly NewEvent[], traceparent: string): NewEvent[] {
  return events.map((event) => ({ ...event, traceparent }));
}

/** Returns a cached lookup of workspace names, which every payload contains. */
function createWorkspaceNames(database: Database, clock: () => Date) {
  const known = new Map<string, { name: string; until: number }>();
  return async function nameOf(id: string): Promise<string> {
    const now = clock().getTime();
    const remembered = known.get(id);
    if (remembered && now < remembered.until) return remembered.name;
    const name = await findWorkspaceName(database, id);
    if (name === null) throw unauthenticated('The workspace of the credential no longer exists.');
    known.set(id, { name, until: now + CACHE_MS });
    return name;
  };
}
