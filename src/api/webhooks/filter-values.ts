import { z } from 'zod';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { valuesOf } from '../../domain/webhooks/matching.ts';
import { FILTER_FIELDS, type FilterValue } from '../../domain/webhooks/webhook.ts';
import { RECENT_EVENTS } from '../../domain/common/limits.ts';
import { route, type Route } from '../http/route.ts';
import type { ReadRecentEvents } from './recent-events.ts';

const MAX_SUGGESTIONS = 30;
const MAX_SUGGESTION_LENGTH = 100;

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const seen = z
  .strictObject({
    event: z.enum(EVENT_KINDS),
    field: z.enum(FILTER_FIELDS),
    values: z.array(value).describe('Current values, latest first'),
    changed_to: z.array(value).describe('Values it changed to, latest first'),
  })
  .meta({ id: 'FilterValues' });

/** Returns the route that suggests filter values from recent events. */
export function filterValuesRoute(readRecentEvents: ReadRecentEvents): Route {
  return route({
    method: 'get',
    path: '/api/v1/filter-values',
    operationId: 'listFilterValues',
    tag: 'webhook',
    summary: 'List values of filterable fields in recent events',
    description: `Based on the latest ${RECENT_EVENTS.most} events, up to ${RECENT_EVENTS.bytes / 1_048_576} MiB. Fields that occur in none of them are omitted.`,
    access: { kind: 'credential', scope: 'webhooks:read' },
    responses: { 200: { description: 'The values', schema: z.strictObject({ data: z.array(seen) }) } },
    async handle({ caller: { workspaceId } }) {
      const events = await readRecentEvents(workspaceId);
      const data = EVENT_KINDS.flatMap((event) => {
        const ofKind = events.filter((one) => one.event === event);
        return FILTER_FIELDS.map((field) => {
          const found = ofKind.map((one) => valuesOf(field, one));
          return {
            event,
            field,
            values: shortList(found.flatMap(({ values }) => values)),
            changed_to: shortList(found.flatMap(({ changedTo }) => changedTo)),
          };
        }).filter(({ values, changed_to }) => values.length > 0 || changed_to.length > 0);
      });
      return { status: 200, body: { data } };
    },
  });
}

function shortList(values: readonly FilterValue[]): FilterValue[] {
  const short = values.filter((one) => typeof one !== 'string' || one.length <= MAX_SUGGESTION_LENGTH);
  return [...new Set(short)].slice(0, MAX_SUGGESTIONS);
}
