import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { EventKind } from '../../domain/event-kinds.ts';
import { payloadText, wordsOf } from '../../domain/event-payload.ts';
import { sampleData } from '../../domain/event-samples.ts';
import { attemptsOf, giveUpTest, insertTestDelivery } from '../../database/deliveries.ts';
import { insertTestEvent, workspaceName } from '../../database/events.ts';
import { findWebhook } from '../../database/webhooks.ts';
import { EngineUncertain } from '../../workflows/control.ts';
import { presentAttempt } from '../deliveries/presenter.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, Problem, unavailable } from '../http/problem.ts';
import type { Answer } from '../http/route.ts';

type Wish = { workspaceId: string; id: string; event: EventKind };

/**
 * Sends a sample event to one webhook, also while it is disabled or off, and answers with the attempt, whatever the
 * receiver said. It neither counts as a failure nor is it retried.
 */
export async function testWebhook(deps: Dependencies, { workspaceId, id, event }: Wish): Promise<Answer> {
  const webhook = await findWebhook(deps.database, { workspaceId, id });
  if (!webhook) throw notFound('webhook');
  await deps.control.ready();
  const { deliveryId, body } = await insertTest(deps, { workspaceId, id, event });
  try {
    await deps.deliveryControl.attemptAndWait({ deliveryId, trigger: 'test', token: randomUUIDv7() });
  } catch (error) {
    await giveUpTest(deps.database, deliveryId, 'the test could not be sent in time', deps.clock());
    throw error instanceof EngineUncertain ? unavailable('Temporal', error) : error;
  }
  const [attempt] = await attemptsOf(deps.database, deliveryId);
  if (!attempt) throw new Problem('invalid_state', 'The webhook was deleted before the test was sent.');
  return { status: 200, body: { delivery_id: deliveryId, ...presentAttempt(attempt, body) } };
}

async function insertTest(deps: Dependencies, { workspaceId, id, event }: Wish) {
  const now = deps.clock();
  const name = (await workspaceName(deps.database, workspaceId)) ?? '';
  const eventId = `evt_test_${randomUUID()}`;
  const data = sampleData(event);
  const body = payloadText({
    id: eventId,
    event,
    timestamp: now.toISOString(),
    workspace: { id: workspaceId, name },
    data: JSON.stringify(data),
  });
  const eventSeq = await insertTestEvent(deps.database, {
    workspace_id: workspaceId,
    id: eventId,
    event,
    timestamp: now,
    body,
    words: wordsOf({ id: eventId, event }, data),
    received_at: now,
  });
  const deliveryId = await insertTestDelivery(deps.database, {
    workspaceId,
    webhookId: id,
    eventSeq,
    eventId,
    event,
    now,
  });
  return { deliveryId, body };
}
