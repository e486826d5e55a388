import { eventTypeRoutes } from '../../src/api/event-types/routes.ts';
import type { Call } from '../../src/api/http/route.ts';
import { ABOUT_EVENTS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { markdownTable, pageHead } from './write.ts';

type EventType = { event: EventKind; description: string; sample: Record<string, unknown> };

/** Renders every kind of event with a sample, from the response of `GET /api/v1/event-types`. */
export async function eventKindsPage(): Promise<string> {
  const listing = eventTypeRoutes().find(({ path }) => path === '/api/v1/event-types');
  if (listing === undefined) throw new Error('the kinds of events have no listing');
  const { body } = (await listing.handle({} as Call)) as { body: { data: EventType[] } };
  const rows = body.data.map(({ event, description }) => [
    `[\`${event}\`](#${event.replace('.', '')})`,
    description,
    `\`${ABOUT_EVENTS[event].object}\``,
  ]);
  const samples = body.data.flatMap(({ event, description, sample }) => [
    '',
    `## ${event}`,
    '',
    `${description}. A payload as a webhook gets it:`,
    '',
    '```json',
    JSON.stringify(sample, null, 2),
    '```',
  ]);
  return `${[
    pageHead(
      'Event kinds',
      '`src/domain/webhooks/event-kinds.ts` and `src/domain/webhooks/event-samples.ts`',
    ),
    'To send events, see [events](../events.md). To receive them, see [receiving](../receiving.md). For JSON Schemas of the payloads, use',
    '`GET /api/v1/event-types`, or `npx baton event-types KIND`.',
    '',
    markdownTable(['kind', 'when', 'about'], rows),
    ...samples,
  ].join('\n')}\n`;
}
