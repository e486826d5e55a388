import type { Database } from '../../database/database.ts';
import { markRetriesStarted, markUnsent } from '../../database/webhooks/dispatch.ts';
import type { AttemptResult, RecordedResult } from '../../database/webhooks/delivery-results.ts';
import type { Endpoint } from '../../database/webhooks/endpoints.ts';
import type { AttemptTrigger } from '../../domain/webhooks/delivery.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { AttemptLimiter } from './attempt-limiter.ts';
import type { ResultRecorder } from './result-recorder.ts';
import { post, type Post, type PostDependencies } from './post.ts';

export type AttemptDependencies = PostDependencies & {
  database: Database;
  endpointCache: EndpointCache;
  limiter: AttemptLimiter;
  recorder: ResultRecorder;
  control: Pick<DeliveryControl, 'startRetries'>;
  onError: (error: unknown, what: string, deliveryId: string) => void;
  /** Called after every recorded attempt. */
  onAttempt?: ((attempt: AttemptResult & { number: number }) => void) | undefined;
};

/** The outcome of an attempt: recorded, no free place in time, or not sent. */
export type AttemptOutcome =
  | { kind: 'recorded'; result: RecordedResult | null }
  | { kind: 'no_room' }
  | { kind: 'unsent' };

type AttemptOptions = {
  trigger: AttemptTrigger;
  /** Time to wait for a free place, in milliseconds; null: without limit. */
  waitMs: number | null;
  now: () => Date;
  signal?: AbortSignal;
  /** Whether to start the retries after a failure. False if the caller has its own schedule. */
  startsRetries: boolean;
};

/**
 * Creates the function that makes attempts: waits for a free place, checks the webhook, sends the request, records the
 * result and starts retries.
 */
export function createAttempts(deps: AttemptDependencies) {
  const { endpointCache, limiter, recorder, database, control, onError, traces } = deps;

  /**
   * Every attempt belongs to the trace of the event's request, even if it is made in a group, from a backlog, or hours
   * later.
   */
  return (delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> =>
    traces.within(delivery.traceparent, () => attempt(delivery, options));

  /** Waits for a free place, checks whether the webhook may get the delivery, and sends it. */
  async function attempt(delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> {
    const target = { webhookId: delivery.webhook_id, workspaceId: delivery.workspace_id };
    const release = await limiter.acquire(target, options.waitMs);
    if (release === null) return { kind: 'no_room' };
    let result: RecordedResult | null;
    try {
      // The attempt's time is that of the lookup, so that an allowed attempt began before any later disabling.
      const { endpoint, at: begun } = await endpointCache.current(delivery.webhook_id, options.now);
      const refusal = options.trigger === 'test' && endpoint ? null : refusalOf(endpoint);
      if (refusal || !endpoint) {
        const [status, reason] = refusal ?? DELETED;
        if (options.trigger !== 'manual')
          await markUnsent(database, [delivery.id], status, reason, options.now());
        return { kind: 'unsent' };
      }
      const done = await post(deps, endpoint, delivery, { ...options, begun });
      // A failure keeps its place until it is recorded. Otherwise ten more attempts could fail while the count is still
      // one.
      const recording = recorder.record(done);
      if (done.succeeded && !recorder.isOverloaded()) release();
      result = await recording;
      if (result) deps.onAttempt?.({ ...done, number: result.number });
      if (!done.succeeded) endpointCache.invalidate(delivery.webhook_id);
    } finally {
      release();
    }
    if (result?.status === 'retrying' && options.startsRetries)
      await startRetries(delivery.id, result, options.now());
    return { kind: 'recorded', result };
  }

  /** Starts the retries. If that fails, the reconciler starts them later, so the group continues. */
  async function startRetries(deliveryId: string, result: RecordedResult, now: Date): Promise<void> {
    const due = result.next_attempt_at?.getTime() ?? now.getTime();
    try {
      await control.startRetries({ deliveryId, generation: result.generation }, due - now.getTime());
      await markRetriesStarted(database, [deliveryId]);
    } catch (error) {
      onError(error, 'starting a retry failed; the reconciler will start it', deliveryId);
    }
  }
}

export type Attempt = ReturnType<typeof createAttempts>;

const DELETED = ['cancelled', 'the webhook was deleted'] as const;

/** Returns the status and the reason for not sending to a webhook, or null if it may be sent. */
export function refusalOf(
  endpoint: Endpoint | null,
): readonly ['held' | 'skipped' | 'cancelled', string] | null {
  if (!endpoint || endpoint.deleted_at) return DELETED;
  if (endpoint.disabled_at) return ['held', 'the webhook is disabled'];
  if (!endpoint.active) return ['skipped', 'the webhook is inactive'];
  return null;
}

/** Returns Temporal's current time, in milliseconds since 1970: the machine's own, except in tests that skip time. */
export type EngineTime = () => Promise<number>;

/** Returns a clock that continues from Temporal's current time. */
export async function engineClock(engineTime: EngineTime): Promise<() => Date> {
  const ahead = (await engineTime()) - Date.now();
  return () => new Date(Date.now() + ahead);
}
