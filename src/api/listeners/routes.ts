import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { LISTENING_MS, MAX_WEBHOOK_NAME_LENGTH } from '../../domain/common/limits.ts';
import { presentWebhook } from '../../domain/webhooks/webhook-view.ts';
import { createWebhook } from '../../database/webhooks/webhooks.ts';
import { webhookSecretContext } from '../../security/sealing.ts';
import type { Dependencies } from '../dependencies.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { createdListener, listenerPlan } from './schema.ts';
import { truncate } from '../../domain/common/text.ts';

const SECRET_BYTES = 32;

/** Returns the route that creates webhooks whose deliveries are sent over the live channel instead of to a URL. */
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
      responses: {
        201: {
          description: 'The webhook with its secret',
          schema: createdListener,
          headers: { Location: 'URL of the webhook' },
        },
      },
      problems: ['conflict'],
      async handle({ caller: { workspaceId, actor }, body }) {
        const now = deps.clock();
        // Not derived from the idempotency key: if the response is lost, this webhook expires and a repeat creates
        // another.
        const id = randomUUIDv7();
        const secret = randomBytes(SECRET_BYTES).toString('hex');
        const webhook = {
          id,
          name: body.name ?? truncate(body.forward_to, MAX_WEBHOOK_NAME_LENGTH),
          url: body.forward_to,
          events: body.events ?? EVENT_KINDS.map((event) => ({ event, filters: [] })),
          secret: deps.sealing.seal(secret, webhookSecretContext(id)),
          include_secret_header: false,
          standard_webhooks: false,
          active: true,
          // Until then, the first deliveries wait for the listener to connect.
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
