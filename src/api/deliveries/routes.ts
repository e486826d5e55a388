import { deliveryView, presentListed } from '../../domain/webhooks/delivery-view.ts';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import {
  listAttempts,
  findEvent,
  findDelivery,
  listDeliveries,
  readSearchWords,
} from '../../database/webhooks/deliveries.ts';
import { findWebhook } from '../../database/webhooks/webhooks.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage } from '../http/fields.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { presentDetail } from './presenter.ts';
import { cancelRetry, retryDelivery } from './retry.ts';
import * as schema from './schema.ts';

const ONE = '/api/v1/deliveries/{id}';
const reads = { kind: 'credential', scope: 'webhooks:read' } as const;
const writes = { kind: 'credential', scope: 'webhooks:write' } as const;
const tag = 'delivery';

/** Returns the routes of the delivery log (docs/webhooks.md). */
export function deliveryRoutes(deps: Dependencies): Route[] {
  return [list(deps), read(deps), retry(deps), cancelScheduled(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: '/api/v1/webhooks/{id}/deliveries',
    operationId: 'listDeliveries',
    tag,
    summary: "List a webhook's deliveries, newest events first",
    description: 'The log of a deleted webhook stays readable by its id.',
    access: reads,
    params: schema.webhookParams,
    query: schema.listParameters,
    responses: { 200: { description: 'A page of deliveries', schema: schema.page } },
    async handle({ caller: { workspaceId }, params: { id }, query }) {
      const webhook = await findWebhook(deps.database, { workspaceId, id, deleted: true });
      if (!webhook) throw notFound('webhook');
      const limit = query.limit ?? DEFAULT_PAGE;
      const found = await listDeliveries(deps.database, {
        workspaceId,
        webhookId: id,
        statuses: query.status,
        events: query.event,
        createdAfter: query.created_after,
        createdBefore: query.created_before,
        text: query.text,
        cursor: query.cursor,
        limit: limit + 1,
      });
      const { rows, nextCursor } = cutPage(found, limit);
      const words = await readSearchWords(deps.database, rows);
      const data = rows.map((row) => presentListed(row, words.get(row.event_seq) ?? null));
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
  });
}

function read(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: ONE,
    operationId: 'readDelivery',
    tag,
    summary: 'Get a delivery with its attempts',
    access: reads,
    params: schema.deliveryParams,
    responses: { 200: { description: 'The delivery', schema: schema.detail } },
    async handle({ caller: { workspaceId, scopes }, params: { id } }) {
      const row = await findDelivery(deps.database, { workspaceId, id });
      if (!row) throw notFound(tag);
      const [attempts, event] = await Promise.all([
        listAttempts(deps.database, id),
        findEvent(deps.database, row),
      ]);
      return { status: 200, body: presentDetail(row, attempts, event, scopes.includes('webhooks:write')) };
    },
  });
}

function retry(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/retry`,
    operationId: 'retryDelivery',
    tag,
    summary: 'Retry a delivery once, now or at a given time',
    description:
      'Independent of the retry schedule: a pending automatic retry stays scheduled, and no new schedule starts. If the attempt succeeds, the delivery is done. If it fails, nothing else changes. A delivery has at most one scheduled retry, `scheduled_at`: another time replaces it, and the same time again changes nothing.',
    access: writes,
    params: schema.deliveryParams,
    body: schema.retry,
    bodyOptional: true,
    idempotent: true,
    responses: { 202: { description: 'The current delivery', schema: deliveryView } },
    problems: ['invalid_state'],
    handle: async ({ caller: { workspaceId, actor }, params: { id }, body, claim }) =>
      await retryDelivery(deps, { workspaceId, actor, id, at: body?.at, claim }),
  });
}

function cancelScheduled(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: `${ONE}/retry`,
    operationId: 'cancelDeliveryRetry',
    tag,
    summary: 'Cancel the scheduled retry of a delivery',
    description:
      'The automatic retries stay scheduled. A retry that has started, or that was never scheduled, cannot be cancelled: the response is 409.',
    access: writes,
    params: schema.deliveryParams,
    responses: { 204: { description: 'Cancelled, or already cancelled' } },
    problems: ['invalid_state'],
    handle: async ({ caller: { workspaceId, actor }, params: { id } }) =>
      await cancelRetry(deps, { workspaceId, actor, id }),
  });
}
