import { z } from 'zod';
import { ABOUT_EVENTS, EVENT_KINDS, type EventKind } from '../../domain/webhooks/event-kinds.ts';
import { payloadText } from '../../domain/webhooks/event-payload.ts';
import { sampleData } from '../../domain/webhooks/event-samples.ts';
import { payloadSchema } from '../../domain/webhooks/event-schemas.ts';
import { route, type Route } from '../http/route.ts';

const SAMPLE_ID = 'evt_0197d3c7b2a0716f9e0d5c3b8a7f6e41';
const SAMPLE_TIME = '2026-03-04T10:03:20.000Z';
const SAMPLE_WORKSPACE = { id: '0197d3c6-5a00-7d3e-9b1a-2f6c8e4d1a70', name: 'Example workspace' };

const eventType = z.strictObject({
  event: z.enum(EVENT_KINDS),
  description: z.string(),
  schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the payload'),
  sample: z.record(z.string(), z.unknown()).describe('Complete payload as a webhook receives it'),
});

/** Returns the route that lists all event kinds with schema and sample (docs/events.md). */
export function eventTypeRoutes(): Route[] {
  const data = EVENT_KINDS.map((event) => ({
    event,
    description: ABOUT_EVENTS[event].description,
    schema: payloadSchema(event),
    sample: samplePayload(event),
  }));
  return [
    route({
      method: 'get',
      path: '/api/v1/event-types',
      operationId: 'listEventTypes',
      tag: 'event',
      summary: 'List event kinds with payload schema and sample',
      access: { kind: 'credential', scope: ['webhooks:read', 'events:write'] },
      responses: {
        200: { description: 'All event kinds', schema: z.strictObject({ data: z.array(eventType) }) },
      },
      handle: async () => ({ status: 200, body: { data } }),
    }),
  ];
}

function samplePayload(event: EventKind): Record<string, unknown> {
  const parts = { id: SAMPLE_ID, event, timestamp: SAMPLE_TIME, workspace: SAMPLE_WORKSPACE };
  return JSON.parse(payloadText({ ...parts, data: JSON.stringify(sampleData(event)) }));
}
