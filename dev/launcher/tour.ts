import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { followRun } from '../../cli/follow.ts';
import { createApi } from '../../cli/http.ts';
import { startReceiver, type ReceivedCallback } from '../../cli/receiver.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { Say } from '../common/progress.ts';
import type { LocalTls } from './tls.ts';

const submittedSchema = z.object({ execution_id: z.string(), callback_secret: z.string() });
const dataSchema = z.looseObject({
  to: z.string().optional(),
  step: z.object({ name: z.string(), agent: z.string() }).optional(),
  duration_ms: z.number().nullish(),
});

const LIMIT_MS = 60_000;

export type TourPlan = {
  baseUrl: string;
  apiKey: string;
  projectId: string;
  tls: LocalTls;
};

/**
 * Shows a real task to a new user: submits a rehearsal, prints its steps from the live channel, and receives its
 * callback over HTTPS with a receiver in this process, which verifies the signature.
 * @throws Error if this takes longer than a minute
 */
export async function takeTour(plan: TourPlan, say: Say): Promise<void> {
  const secrets = new Map<string, string>();
  const callback = Promise.withResolvers<ReceivedCallback>();
  const receiver = await startReceiver({
    cert: readFileSync(plan.tls.cert, 'utf8'),
    key: readFileSync(plan.tls.key, 'utf8'),
    secretFor: (executionId) => secrets.get(executionId),
    onCallback: callback.resolve,
  });
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {}); // awaited below, unless something else fails first
  const limit = setTimeout(
    () => late.reject(new Error('the task and its callback did not finish within a minute')),
    LIMIT_MS,
  );
  try {
    say(`A short tour: a simulated task without a model, with a callback to ${receiver.url}`);
    const { execution_id: id, callback_secret: secret } = submittedSchema.parse(
      await call(plan, '/api/v1/tasks', {
        title: 'Tour: greet a new user by name',
        project_id: plan.projectId,
        task_type: 'feature',
        callback_url: `${receiver.url}/callback`,
        metadata: { rehearsal: { step_ms: 700 } },
      }),
    );
    secrets.set(id, secret);
    say(`submitted: ${id}`);
    await Promise.race([followSteps(plan, id, say), late.promise]);
    const received = await Promise.race([callback.promise, late.promise]);
    if (!received.verified) throw new Error(`the callback was rejected: ${received.reason}`);
    say(`callback received over HTTPS: ${received.status}, ${received.bytes} bytes, signature verified`);
  } finally {
    clearTimeout(limit);
    await receiver.close();
  }
}

/** Prints the steps from the live channel until the run has ended. */
async function followSteps(plan: TourPlan, id: string, say: Say): Promise<void> {
  const api = createApi(plan.baseUrl, { kind: 'key', key: plan.apiKey });
  const options = { after: 0, patienceMs: LIMIT_MS, onLost: () => {} };
  for await (const event of followRun({ api, id, projectId: plan.projectId }, options)) {
    const line = lineOf(event);
    if (line !== null) say(line);
    if (event.type === 'run.ended') return;
  }
}

/** Returns the line for an event; null if it is not shown. */
function lineOf({ type, data }: FeedEvent): string | null {
  const { to, step, duration_ms: took } = dataSchema.parse(data);
  switch (type) {
    case 'state.changed':
      return `→ ${to}`;
    case 'step.started':
      return `    ${step?.name} started (${step?.agent})`;
    case 'step.completed':
      return `    ${step?.name} completed in ${took} ms`;
    case 'step.failed':
      return `    ${step?.name} failed`;
    default:
      return null;
  }
}

/** Calls the API, with POST if there is a body. @throws Error with the problem's detail if the request fails */
async function call(plan: TourPlan, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(plan.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-api-key': plan.apiKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`${path} returned ${answer.status}: ${await answer.text()}`);
  return await answer.json();
}
