import { findWebhook } from '../../database/webhooks/webhooks.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { previewOf } from './preview.ts';
import { recoverWebhook } from './recover.ts';
import * as schema from './schema.ts';
import { draftTest, testWebhook } from './test.ts';

const PATH = '/api/v1/webhooks';
const ONE = `${PATH}/{id}`;
const reads = { kind: 'credential', scope: 'webhooks:read' } as const;
const writes = { kind: 'credential', scope: 'webhooks:write' } as const;
const tag = 'webhook';

/** What is done with a webhook beside changing it. */
export function webhookActions(deps: Dependencies): Route[] {
  return [test(deps), testDraft(deps), preview(deps), previewPlan(deps), recover(deps)];
}

function test(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/test`,
    operationId: 'testWebhook',
    tag,
    summary: 'Send a sample event, and see what the receiver says',
    description:
      'Sent like any other, also while the webhook is disabled or switched off; neither counted nor retried.',
    access: writes,
    params: schema.webhookParams,
    body: schema.testWish,
    idempotent: true,
    answers: { 200: { description: 'The attempt, whatever came of it', schema: schema.testAttempt } },
    problems: ['invalid_state', 'conflict'],
    handle: async ({ caller: { workspaceId }, params: { id }, body: { event, data, draft } }) =>
      await testWebhook(deps, { workspaceId, id, event, data, draft }),
  });
}

function testDraft(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/test-request`,
    operationId: 'draftWebhookTest',
    tag,
    summary: 'See the request of a test before it is sent, with its real signature',
    description:
      'Nothing is stored or sent. The `draft` of the answer, given to the test, sends exactly this.',
    access: writes,
    params: schema.webhookParams,
    body: schema.testDraftWish,
    answers: { 200: { description: 'The request', schema: schema.testDraft } },
    handle: async ({ caller: { workspaceId }, params: { id }, body: { event, data } }) =>
      await draftTest(deps, { workspaceId, id, event, data }),
  });
}

function preview(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/preview`,
    operationId: 'previewWebhook',
    tag,
    summary: 'See which recent events a webhook would be sent, and why not the others',
    access: reads,
    params: schema.webhookParams,
    body: schema.previewWish,
    bodyOptional: true,
    answers: { 200: { description: 'The verdicts, newest event first', schema: schema.preview } },
    async handle({ caller: { workspaceId }, params: { id }, body }) {
      const webhook = await findWebhook(deps.database, { workspaceId, id });
      if (!webhook) throw notFound(tag);
      const events = body?.events ?? webhook.events;
      return await previewOf(deps, workspaceId, { events, limit: body?.limit });
    },
  });
}

function previewPlan(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/preview`,
    operationId: 'previewSubscriptions',
    tag,
    summary: 'The same for a webhook that is not made yet',
    access: reads,
    body: schema.planPreviewWish,
    answers: { 200: { description: 'The verdicts, newest event first', schema: schema.preview } },
    handle: async ({ caller: { workspaceId }, body: { events, limit } }) =>
      await previewOf(deps, workspaceId, { events, limit }),
  });
}

function recover(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/recover`,
    operationId: 'recoverWebhook',
    tag,
    summary: 'Send what was held, failed or skipped since a time',
    description:
      'Each delivery begins its schedule anew. Of the skipped ones those go that the filters of today let pass. Deliveries whose payload is no longer kept stay as they are.',
    access: writes,
    params: schema.webhookParams,
    body: schema.recovery,
    idempotent: true,
    answers: {
      200: { description: 'How many they would be, with `count_only`', schema: schema.recovered },
      202: { description: 'How many', schema: schema.recovered },
    },
    problems: ['invalid_state'],
    async handle({ caller: { workspaceId, actor }, params: { id }, body }) {
      const { since, statuses, count_only: countOnly } = body;
      return await recoverWebhook(deps, { workspaceId, actor, id, since, statuses, countOnly });
    },
  });
}
