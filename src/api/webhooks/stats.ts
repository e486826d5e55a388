import { z } from 'zod';
import { webhookStats, type WebhookStats } from '../../database/webhook-stats.ts';
import type { Dependencies } from '../dependencies.ts';
import { integerParameter, timestamp, uuid } from '../http/fields.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;

const hour = z.strictObject({
  from: timestamp,
  succeeded: z.number().int(),
  failed: z.number().int(),
});

const stats = z
  .strictObject({
    from: timestamp,
    to: timestamp,
    hours: z.array(hour).describe('One for each hour, oldest first; the last one ends now'),
    total: z.number().int().describe('Attempts, those of test deliveries left out'),
    succeeded: z.number().int(),
    failed: z.number().int(),
    success_rate: z.number().nullable().describe('From 0 to 1; null without attempts'),
    last_delivery_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookStats' });

/** How a webhook's attempts went in the last hours. */
export function webhookStatsRoute(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: '/api/v1/webhooks/{id}/stats',
    operationId: 'getWebhookStats',
    tag: 'webhook',
    summary: 'Count the attempts of the last hours, hour by hour',
    access: { kind: 'credential', scope: 'webhooks:read' },
    params: z.strictObject({ id: uuid }),
    query: z.strictObject({
      hours: integerParameter(1, MAX_HOURS).optional().describe(`How many, ${DEFAULT_HOURS} by default`),
    }),
    answers: { 200: { description: 'The counts', schema: stats } },
    async handle({ caller: { workspaceId }, params: { id }, query: { hours = DEFAULT_HOURS } }) {
      const to = deps.clock();
      const found = await webhookStats(deps.database, { workspaceId, webhookId: id }, { hours, to });
      if (!found) throw notFound('webhook');
      return { status: 200, body: present(found, to) };
    },
  });
}

function present({ hours, lastDeliveryAt }: WebhookStats, to: Date) {
  const startOf = (index: number) => new Date(to.getTime() - (hours.length - index) * HOUR_MS).toISOString();
  const succeeded = hours.reduce((sum, one) => sum + one.succeeded, 0);
  const failed = hours.reduce((sum, one) => sum + one.failed, 0);
  const total = succeeded + failed;
  return {
    from: startOf(0),
    to: to.toISOString(),
    hours: hours.map((one, index) => ({ from: startOf(index), ...one })),
    total,
    succeeded,
    failed,
    success_rate: total === 0 ? null : succeeded / total,
    last_delivery_at: lastDeliveryAt?.toISOString() ?? null,
  };
}
