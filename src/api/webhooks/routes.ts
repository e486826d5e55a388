import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import { presentWebhook, webhookView } from '../../domain/webhooks/webhook-view.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateSecret,
  type WebhookRow,
} from '../../database/webhooks/webhooks.ts';
import { webhookSecretContext } from '../../security/sealing.ts';
import { webhookEdit, webhookPlan } from '../../domain/webhooks/webhook-plan.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage } from '../http/fields.ts';
import { notFound, Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { answerWithChange } from '../http/answer-with-change.ts';
import { idOfClaim } from '../http/idempotency.ts';
import { webhookActions } from './actions.ts';
import { filterValuesRoute } from './filter-values.ts';
import { createRecentEvents } from './recent-events.ts';
import * as schema from './schema.ts';
import { checkHeaderSecret, resolveChange } from './change.ts';
import { webhookStatsRoute } from './stats.ts';

const PATH = '/api/v1/webhooks';
const ONE = `${PATH}/{id}`;
const reads = { kind: 'credential', scope: 'webhooks:read' } as const;
const writes = { kind: 'credential', scope: 'webhooks:write' } as const;
const tag = 'webhook';
const HOUR_MS = 3_600_000;

/** Returns the routes of webhooks (docs/webhooks.md). */
export function webhookRoutes(deps: Dependencies): Route[] {
  const readRecentEvents = createRecentEvents(deps.database);
  return [
    list(deps),
    create(deps),
    read(deps),
    change(deps),
    remove(deps),
    rotate(deps),
    ...webhookActions(deps, readRecentEvents),
    webhookStatsRoute(deps),
    filterValuesRoute(readRecentEvents),
  ];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listWebhooks',
    tag,
    summary: 'List webhooks, newest first',
    access: reads,
    query: schema.webhookListParameters,
    responses: { 200: { description: 'A page of webhooks', schema: schema.webhookPage } },
    async handle({ caller: { workspaceId }, query: { limit = DEFAULT_PAGE, cursor } }) {
      const found = await listWebhooks(deps.database, { workspaceId, cursor, limit: limit + 1 });
      const { rows, nextCursor } = cutPage(found, limit);
      const now = deps.clock();
      return {
        status: 200,
        body: { data: rows.map((row) => presentWebhook(row, now)), next_cursor: nextCursor },
      };
    },
  });
}

function create(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'createWebhook',
    tag,
    summary: 'Create a webhook',
    access: writes,
    body: webhookPlan,
    idempotent: true,
    responses: {
      201: {
        description: 'The webhook',
        schema: webhookView,
        headers: { Location: 'URL of the webhook' },
      },
    },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, actor }, body, claim }) {
      const now = deps.clock();
      const id = claim ? idOfClaim(claim) : randomUUIDv7();
      const options = { include_secret_header: false, standard_webhooks: false };
      const empty = { id, url: '', secret: null, listening_until: null, ...options };
      const { secret = null, description = null } = resolveChange(deps, empty, body);
      const { name, url, events, active = true } = body;
      const { include_secret_header = false, standard_webhooks = false } = body;
      const fields = { name, description, url, events, active, secret };
      const webhook = { id, ...fields, include_secret_header, standard_webhooks };
      const most = deps.webhooksPerWorkspace;
      const row = await createWebhook(deps.database, { workspaceId, actor, now, webhook, most });
      if (row === 'full') {
        throw new Problem('conflict', `The workspace has reached its limit of ${most} webhooks.`);
      }
      const headers = { Location: `${deps.baseUrl}${PATH}/${row.id}` };
      return { status: 201, headers, body: presentWebhook(row, now) };
    },
  });
}

function read(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: ONE,
    operationId: 'readWebhook',
    tag,
    summary: 'Get a webhook',
    access: reads,
    params: schema.webhookParams,
    responses: { 200: { description: 'The webhook', schema: webhookView } },
    async handle({ caller: { workspaceId }, params: { id } }) {
      const row = await findWebhook(deps.database, { workspaceId, id });
      if (!row) throw notFound(tag);
      return { status: 200, body: presentWebhook(row, deps.clock()) };
    },
  });
}

function change(deps: Dependencies): Route {
  return route({
    method: 'patch',
    path: ONE,
    operationId: 'changeWebhook',
    tag,
    summary: 'Change a webhook, effective from the next attempt',
    description:
      'While a webhook is inactive, new events are skipped, and so is every delivery whose next attempt becomes due. `active: true` re-enables a webhook that was disabled by failures.',
    access: writes,
    params: schema.webhookParams,
    body: webhookEdit,
    responses: { 200: { description: 'The current webhook', schema: webhookView } },
    async handle({ caller: { workspaceId, actor }, params: { id }, body }) {
      const now = deps.clock();
      const row = await changeWebhook(deps.database, { workspaceId, id, actor, now }, (before) =>
        resolveChange(deps, before, body),
      );
      if (!row) throw notFound(tag);
      return { status: 200, body: presentWebhook(row, now) };
    },
  });
}

function remove(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: ONE,
    operationId: 'deleteWebhook',
    tag,
    summary: 'Delete a webhook and cancel its pending deliveries',
    access: writes,
    params: schema.webhookParams,
    responses: { 204: { description: 'Deleted; its delivery log follows normal retention' } },
    async handle({ caller: { workspaceId, actor }, params: { id } }) {
      const deleted = await deleteWebhook(deps.database, { workspaceId, id, actor, now: deps.clock() });
      if (!deleted) throw notFound(tag);
      return { status: 204 };
    },
  });
}

function rotate(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${ONE}/rotate-secret`,
    operationId: 'rotateWebhookSecret',
    tag,
    summary: 'Replace the secret of a webhook; the old one also signs during the overlap',
    access: writes,
    params: schema.webhookParams,
    body: schema.rotation,
    bodyOptional: true,
    idempotent: true,
    responses: {
      200: { description: 'The webhook, with the secret if it was generated', schema: schema.rotated },
    },
    async handle({ caller: { workspaceId, actor }, params: { id }, body, claim }) {
      const now = deps.clock();
      const hours = body?.overlap_hours ?? schema.DEFAULT_OVERLAP_HOURS;
      const previousUntil = hours > 0 ? new Date(now.getTime() + hours * HOUR_MS) : null;
      const secret = body?.secret ?? randomBytes(32).toString('hex');
      const shown = body?.secret === undefined ? { secret } : {};
      const answerOf = (row: WebhookRow) => ({
        status: 200,
        body: { ...presentWebhook(row, now), ...shown },
      });
      // The secret exists nowhere else, and a second rotation would end the overlap with the old one.
      const withChange = answerWithChange(deps, claim, answerOf);
      const row = await rotateSecret(
        deps.database,
        { workspaceId, id, actor, now, previousUntil, withChange },
        (before) => {
          checkHeaderSecret(before, secret);
          return deps.sealing.seal(secret, webhookSecretContext(id));
        },
      );
      if (!row) throw notFound(tag);
      return answerOf(row);
    },
  });
}
