import { ABOUT_EVENTS, type EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';

/** Returns a curl command that sends the smallest event of a kind. The key comes from the environment. */
export function eventAsCurl(origin: string, event: EventKind): string {
  const body = `{ "event": "${event}", "data": { "${ABOUT_EVENTS[event].object}": { "id": "1" } } }`;
  return [
    `curl ${origin}/api/v1/events \\`,
    `  -H "X-API-Key: $BATON_API_KEY" -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}
