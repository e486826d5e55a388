import { findWebhook } from '../../database/webhooks/webhooks.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { previewSubscriptions } from './preview.ts';
import type { ReadRecentEvents } from './recent-events.ts';
import { recoverWebhook } from './recover.ts';
import * as schema from './schema.ts';
import { draftTest, testWebhook } from './test.ts';

const PATH = '/api/v1/webhooks';
const ONE = `${PATH}/{id}`;
const reads = { kind: 'credential', scope: 'webhooks:read' } as const;
const writes = { kind: 'credential', scope: 'webhooks:write' } as const;
const tag = 'webhook';

/** Returns the routes that test, preview and recover webhooks. */
export function webhookActions(deps: Dependencies, readRecentEvents: ReadRecentEvents): Route[] {
  return [
    test(deps),
    testDraft(deps),
    preview(deps, readRecentEvents),
    previewPlan(readRecentEvents),
    recover(deps),
  ];
}

function test(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/test`,
    operationId: 'testWebhook',
    tag,
    summary: 'Send a sample event and return the response',
    description:
      'Sent like any event, even while the webhook is disabled or inactive. Not counted and not retried.',
    access: writes,
    params: schema.webhookParams,
    body: schema.testRequest,
    idempotent: true,
    responses: { 200: { description: 'The attempt, successful or not', schema: schema.testAttempt } },
    problems: ['invalid_state', 'conflict'],
    handle: async ({ caller: { workspaceId, actor }, params: { id }, body: { event, data, draft } }) =>
      await testWebhook(deps, { workspaceId, actor, id, event, data, draft }),
  });
}

function testDraft(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/test-request`,
    operationId: 'draftWebhookTest',
    tag,
    summary: 'Preview the request of a test with its real signature',
    description:
      'Nothing is sent, and only the audit log records it. Pass the returned `draft` to the test to send exactly this request.',
    access: writes,
    params: schema.webhookParams,
    body: schema.testDraftRequest,
    responses: { 200: { description: 'The request', schema: schema.testDraft } },
    handle: async ({ caller: { workspaceId, actor }, params: { id }, body: { event, data } }) =>
      await draftTest(deps, { workspaceId, actor, id, event, data }),
  });
}

function preview(deps: Dependencies, readRecentEvents: ReadRecentEvents): Route {
  return route({
    method: 'post',
    path: `${ONE}/preview`,
    operationId: 'previewWebhook',
    tag,
    summary: 'Preview which recent events match a webhook, with reasons',
    access: reads,
    params: schema.webhookParams,
    body: schema.previewRequest,
    bodyOptional: true,
    responses: { 200: { description: 'Verdicts, newest event first', schema: schema.preview } },
    async handle({ caller: { workspaceId }, params: { id }, body }) {
      const webhook = await findWebhook(deps.database, { workspaceId, id });
      if (!webhook) throw notFound(tag);
      const events = body?.events ?? webhook.events;
      return await previewSubscriptions(readRecentEvents, workspaceId, { events, limit: body?.limit });
    },
  });
}

function previewPlan(readRecentEvents: ReadRecentEvents): Route {
  return route({
    method: 'post',
    path: `${PATH}/preview`,
    operationId: 'previewSubscriptions',
    tag,
    summary: 'Preview which recent events match the given filters',
    access: reads,
    body: schema.subscriptionPreviewRequest,
    responses: { 200: { description: 'Verdicts, newest event first', schema: schema.preview } },
    handle: async ({ caller: { workspaceId }, body: { events, limit } }) =>
      await previewSubscriptions(readRecentEvents, workspaceId, { events, limit }),
  });
}

function recover(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/recover`,
    operationId: 'recoverWebhook',
    tag,
    summary: 'Resend held, failed or skipped deliveries since a time',
    description:
      'Each delivery starts a new retry schedule. Skipped deliveries are sent only if they match the current filters. Deliveries whose payload was deleted do not change.',
    access: writes,
    params: schema.webhookParams,
    body: schema.recovery,
    idempotent: true,
    responses: {
      200: {
        description: 'With `count_only`: number of deliveries that would be sent',
        schema: schema.recovered,
      },
      202: { description: 'Number of deliveries that will be sent', schema: schema.recovered },
    },
    problems: ['invalid_state'],
    async handle({ caller: { workspaceId, actor }, params: { id }, body }) {
      const { since, statuses, count_only: countOnly } = body;
      return await recoverWebhook(deps, { workspaceId, actor, id, since, statuses, countOnly });
    },
  });
}
