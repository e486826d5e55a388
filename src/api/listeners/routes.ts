import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { LISTENING_MS, MAX_WEBHOOK_NAME_LENGTH } from '../../domain/common/limits.ts';
import { presentWebhook } from '../../domain/webhooks/webhook-view.ts';
import { createWebhook } from '../../database/webhooks/webhooks.ts';
import { webhookSecretPlace } from '../../security/sealing.ts';
import type { Dependencies } from '../dependencies.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { listenerMade, listenerPlan } from './schema.ts';

const SECRET_BYTES = 32;

/** Webhooks whose deliveries go over the live channel to who listens, and not to an address. */
export function listenerRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/v1/listeners',
      operationId: 'createListener',
      tag: 'webhook',
      summary: 'Create a webhook whose deliveries are sent over the live channel',
      description:
        'For machines that the service cannot reach. Send `listen { webhook_id }` on the live channel to receive the deliveries over that connection; the client posts them to `forward_to` and answers them. Otherwise it works like any webhook. It is deleted one minute after the last listener has left.',
      access: { kind: 'credential', scope: 'webhooks:write' },
      body: listenerPlan,
      idempotent: true,
      answers: {
        201: {
          description: 'The webhook with its secret',
          schema: listenerMade,
          headers: { Location: 'URL of the webhook' },
        },
      },
      problems: ['conflict'],
      async handle({ caller: { workspaceId, actor }, body }) {
        const now = deps.clock();
        // One whose answer was lost goes by itself, so that a repeat may make another.
        const id = randomUUIDv7();
        const secret = randomBytes(SECRET_BYTES).toString('hex');
        const webhook = {
          id,
          name: body.name ?? body.forward_to.slice(0, MAX_WEBHOOK_NAME_LENGTH),
          url: body.forward_to,
          events: body.events ?? EVENT_KINDS.map((event) => ({ event, filters: [] })),
          secret: deps.sealing.seal(secret, webhookSecretPlace(id)),
          include_secret_header: false,
          standard_webhooks: false,
          active: true,
          // So long its first deliveries wait for the listener to come.
          listening_until: new Date(now.getTime() + LISTENING_MS),
        };
        const most = deps.webhooksPerWorkspace;
        const row = await createWebhook(deps.database, { workspaceId, actor, now, webhook, most });
        if (row === 'full') {
          throw new Problem('conflict', `The workspace has reached its limit of ${most} webhooks.`);
        }
        const headers = { Location: `${deps.baseUrl}/api/v1/webhooks/${id}` };
        return { status: 201, headers, body: { ...presentWebhook(row, now), secret } };
      },
    }),
  ];
}
