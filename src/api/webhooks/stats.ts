import { z } from 'zod';
import { createAnswerCache } from '../../database/common/answer-cache.ts';
import {
  MAX_HELD,
  readWebhookHours,
  readWebhookHealth,
  type WebhookHours,
  type WebhookHealth,
} from '../../database/webhooks/webhook-stats.ts';
import { MAX_STATISTICS_HOURS } from '../../domain/common/limits.ts';
import { FAILURE_KINDS } from '../../domain/common/failure-kinds.ts';
import type { Dependencies } from '../dependencies.ts';
import { integerParameter, timestamp, uuid, uuidOut } from '../http/fields.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
/**
 * From this many attempts, counting takes a quarter of a second. Such counts are then cached for fifty times as long
 * as counting took, two minutes at most.
 */
const CACHED_FROM = 50_000;
const CACHE_MS_PER_ATTEMPT = 0.25;
const MAX_CACHE_MS = 120_000;

const hour = z.strictObject({
  from: timestamp,
  succeeded: z.number().int(),
  failed: z.number().int(),
  p95_ms: z
    .number()
    .int()
    .nullable()
    .describe(
      'p95 response time in milliseconds. A timeout counts as its duration. Null without responses and timeouts',
    ),
});

const last = z.strictObject({
  delivery_id: uuidOut,
  response_status: z.number().int().nullable(),
  failure: z.enum(FAILURE_KINDS).nullable(),
  response_ms: z.number().int().nullable(),
});

const stats = z
  .strictObject({
    from: timestamp,
    to: timestamp.describe('When the attempts were counted: up to two minutes ago for large counts'),
    hours: z.array(hour).describe('One entry per hour, oldest first; the last hour ends now'),
    total: z.number().int().describe('Attempts, without test deliveries'),
    succeeded: z.number().int(),
    failed: z.number().int(),
    success_rate: z.number().nullable().describe('0 to 1; null without attempts'),
    last_delivery_at: timestamp.nullable(),
    last: last.nullable().describe('Outcome of the newest attempted delivery'),
    held: z
      .number()
      .int()
      .describe(`Held deliveries, counted up to ${MAX_HELD}. They stay held until they are recovered`),
    next_attempt_at: timestamp.nullable().describe('Time of the next retry'),
  })
  .meta({ id: 'WebhookStats' });

/**
 * Returns the route of hourly attempt statistics. Large counts are cached; the current state of the webhook is not.
 */
export function webhookStatsRoute(deps: Dependencies): Route {
  const counts = createAnswerCache<WebhookHours>(cacheMs);
  return route({
    method: 'get',
    path: '/api/v1/webhooks/{id}/stats',
    operationId: 'getWebhookStats',
    tag: 'webhook',
    summary: 'Get hourly attempt statistics',
    access: { kind: 'credential', scope: 'webhooks:read' },
    params: z.strictObject({ id: uuid }),
    query: z.strictObject({
      hours: integerParameter(1, MAX_STATISTICS_HOURS)
        .optional()
        .describe(`Number of hours; default: ${DEFAULT_HOURS}`),
    }),
    responses: { 200: { description: 'The statistics', schema: stats } },
    async handle({ caller: { workspaceId }, params: { id }, query: { hours = DEFAULT_HOURS } }) {
      const standing = await readWebhookHealth(deps.database, { workspaceId, webhookId: id });
      if (!standing) throw notFound('webhook');
      const counted = await counts.find(`${id} ${hours}`, () =>
        readWebhookHours(deps.database, id, { hours, to: deps.clock() }),
      );
      return { status: 200, body: present(standing, counted) };
    },
  });
}

function cacheMs({ hours }: WebhookHours): number {
  const { total } = sumsOf(hours);
  return total < CACHED_FROM ? 0 : Math.min(total * CACHE_MS_PER_ATTEMPT, MAX_CACHE_MS);
}

function sumsOf(hours: WebhookHours['hours']) {
  const succeeded = hours.reduce((sum, one) => sum + one.succeeded, 0);
  const failed = hours.reduce((sum, one) => sum + one.failed, 0);
  return { total: succeeded + failed, succeeded, failed };
}

function present(standing: WebhookHealth, { hours, to, lastAttemptAt }: WebhookHours) {
  const { lastDeliveryAt, last: newest, held, nextAttemptAt } = standing;
  const startOf = (index: number) => new Date(to.getTime() - (hours.length - index) * HOUR_MS).toISOString();
  const { total, succeeded, failed } = sumsOf(hours);
  return {
    from: startOf(0),
    to: to.toISOString(),
    hours: hours.map(({ p95Ms, ...counts }, index) => ({ from: startOf(index), ...counts, p95_ms: p95Ms })),
    total,
    succeeded,
    failed,
    success_rate: total === 0 ? null : succeeded / total,
    last_delivery_at: later(lastDeliveryAt, lastAttemptAt)?.toISOString() ?? null,
    last: newest,
    held,
    next_attempt_at: nextAttemptAt?.toISOString() ?? null,
  };
}

/** Returns the later time. An old delivery may have been attempted after the newest one. */
function later(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}
