import { randomUUIDv7 } from 'node:crypto';
import { TEST_DRAFT_MS } from '../../domain/common/limits.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { payloadText, searchWordsOf } from '../../domain/webhooks/event-payload.ts';
import { sampleData } from '../../domain/webhooks/event-samples.ts';
import {
  listAttempts,
  cancelTestDelivery,
  insertTestDelivery,
  testEventId,
} from '../../database/webhooks/deliveries.ts';
import { isDuplicate } from '../../database/common/outage.ts';
import { insertTestEvent, findWorkspaceName } from '../../database/webhooks/events.ts';
import { findWebhook, type WebhookRow } from '../../database/webhooks/webhooks.ts';
import { requestHeaders } from '../../outbound/attempt-record.ts';
import { loggedHeaders, webhookHeaders } from '../../outbound/webhook-request.ts';
import { webhookSecretContext } from '../../security/sealing.ts';
import { AttemptPending } from '../../temporal/delivery-control.ts';
import { EngineUncertain } from '../../temporal/task-control.ts';
import { presentAttempt } from '../deliveries/presenter.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordRequest } from '../http/audit.ts';
import { notFound, Problem, unavailable } from '../http/problem.ts';
import type { RouteResponse } from '../http/route.ts';

type TestPlan = {
  workspaceId: string;
  actor: string;
  id: string;
  event: EventKind;
  data: Record<string, unknown> | undefined;
};

/** How far the clock of a draft may be ahead of this one, in milliseconds. */
const AHEAD_MS = 60_000;

/**
 * Sends a sample event to a webhook, also while it is disabled or inactive, and returns the attempt, successful or
 * not. It does not count as a failure and is not retried. With a `draft`, it sends exactly the request that {@link
 * draftTest} returned.
 * @throws Problem `conflict` if the draft was already sent, `validation_failed` if it is unknown or older than a day
 */
export async function testWebhook(
  deps: Dependencies,
  plan: TestPlan & { draft: string | undefined },
): Promise<RouteResponse> {
  const webhook = await findWebhook(deps.database, plan);
  if (!webhook) throw notFound('webhook');
  const draft = plan.draft ?? randomUUIDv7();
  checkDraft(draft, deps.clock());
  await deps.control.ready();
  const { body, timestamp } = await insertTest(deps, plan, draft);
  try {
    await recordTest(deps, plan, webhook, 'webhook.test_sent');
    const input = { deliveryId: draft, trigger: 'test', token: randomUUIDv7(), attempts: 0 } as const;
    await deps.deliveryControl.attemptAndWait(input);
  } catch (error) {
    await cancelTestDelivery(deps.database, draft, deps.clock());
    if (error instanceof AttemptPending) throw withoutResult(error);
    throw error instanceof EngineUncertain ? unavailable('Temporal', error) : error;
  }
  const [attempt] = await listAttempts(deps.database, draft);
  if (!attempt) throw new Problem('invalid_state', 'The webhook was deleted before the test was sent.');
  const of = { deliveryId: draft, event: plan.event, timestamp };
  return { status: 200, body: { delivery_id: draft, ...presentAttempt(attempt, of, body, true) } };
}

function withoutResult(cause: AttemptPending): Problem {
  const detail =
    'The test has no result yet. The webhook has reached its limit of concurrent attempts, or no delivery worker is running. The delivery log shows whether the test was sent.';
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '30' }, cause });
}

/** Returns the exact request that a test would send, and the id that sends it. Only the audit log records it. */
export async function draftTest(deps: Dependencies, plan: TestPlan): Promise<RouteResponse> {
  const webhook = await findWebhook(deps.database, plan);
  if (!webhook) throw notFound('webhook');
  const draft = randomUUIDv7();
  const { body, timestamp } = await payloadOf(deps, plan, draft);
  const message = { deliveryId: draft, event: plan.event, timestamp, body: Buffer.from(body) };
  const now = deps.clock();
  const headers = requestHeaders(webhookHeaders(message, signingOf(deps, webhook, now), now));
  await recordTest(deps, plan, webhook, 'webhook.test_previewed');
  const request = { method: 'POST', url: webhook.url, headers: loggedHeaders(headers), body };
  return { status: 200, body: { draft, request } };
}

/** A test signs content that the caller chooses. */
async function recordTest(
  deps: Dependencies,
  { workspaceId, actor, event }: TestPlan,
  { id, name }: Pick<WebhookRow, 'id' | 'name'>,
  action: 'webhook.test_previewed' | 'webhook.test_sent',
): Promise<void> {
  const detail = { name, event };
  await recordRequest(deps, { workspaceId, actor, action, subject: `webhook:${id}`, detail });
}

function signingOf({ sealing }: Dependencies, webhook: WebhookRow, now: Date) {
  const { id, secret, previous_secret: previous, previous_secret_until: until } = webhook;
  const open = (sealed: string) => sealing.open(sealed, webhookSecretContext(id));
  return {
    secret: secret ? open(secret) : null,
    previousSecret: previous && until && now < until ? open(previous) : null,
    includeSecretHeader: webhook.include_secret_header,
    standardWebhooks: webhook.standard_webhooks,
  };
}

/**
 * Returns the payload of a test. Everything follows from its draft: the ids, and the time, which a UUID of version 7
 * starts with.
 */
async function payloadOf(deps: Dependencies, { workspaceId, event, data }: TestPlan, draft: string) {
  const name = (await findWorkspaceName(deps.database, workspaceId)) ?? '';
  const [eventId, timestamp] = [testEventId(draft), timeOf(draft)];
  const content = data ?? sampleData(event);
  const body = payloadText({
    id: eventId,
    event,
    timestamp: timestamp.toISOString(),
    workspace: { id: workspaceId, name },
    data: JSON.stringify(content),
  });
  return { eventId, timestamp, body, words: searchWordsOf(event, content) };
}

async function insertTest(deps: Dependencies, plan: TestPlan, draft: string) {
  const { workspaceId, id: webhookId, event } = plan;
  const { eventId, timestamp, body, words } = await payloadOf(deps, plan, draft);
  const now = deps.clock();
  const named = { workspace_id: workspaceId, id: eventId, event, timestamp };
  const eventSeq = await insertTestEvent(deps.database, { ...named, body, words, received_at: now });
  if (eventSeq === null) throw alreadySent();
  const delivery = { id: draft, workspaceId, webhookId, eventSeq, eventId, event, now };
  await insertTestDelivery(deps.database, delivery).catch((error: unknown) => {
    // A caller may pass the id of any delivery as the draft.
    throw isDuplicate(error) ? alreadySent() : error;
  });
  return { body, timestamp };
}

function alreadySent(): Problem {
  return new Problem('conflict', 'This test was already sent. Preview a new one.');
}

function checkDraft(draft: string, now: Date): void {
  const age = now.getTime() - timeOf(draft).getTime();
  if (draft[14] === '7' && age < TEST_DRAFT_MS && age > -AHEAD_MS) return;
  const message = '`draft` is unknown or older than a day. Preview a new one.';
  throw new Problem('validation_failed', message, {
    errors: [{ pointer: '/draft', code: 'not_allowed', message }],
  });
}

function timeOf(uuid: string): Date {
  return new Date(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16));
}
