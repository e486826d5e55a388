import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { AttemptResult, RecordedResult } from '../../database/webhooks/delivery-results.ts';
import type { WebhookTarget } from '../../database/webhooks/webhook-targets.ts';
import { isStillDue, type DeliveryProgress } from '../../domain/webhooks/attempt-conditions.ts';
import { INACTIVE_REASON, type AttemptTrigger } from '../../domain/webhooks/delivery.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { WebhookLoader } from './webhook-loader.ts';
import type { AttemptLimiter } from './attempt-limiter.ts';
import type { ResultRecorder } from './result-recorder.ts';
import type { NewDeliveries } from './new-deliveries.ts';
import { post, type Post, type PostDependencies } from './post.ts';

export type AttemptDependencies = PostDependencies & {
  store: DeliveryStore;
  webhookLoader: WebhookLoader;
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
  /** The id of the request that the attempt is made for, if it is outside the schedule. */
  token?: string;
  now: () => Date;
  /** Ends the wait for a place. */
  signal?: AbortSignal;
  /** Aborts the request. Its attempt is not recorded, since the receiver did not fail: it is made again. */
  requestSignal?: AbortSignal;
  /**
   * Time that an attempt may wait for its place before its delivery is read again, in milliseconds; default: zero. Null
   * if the delivery was read long before this call, so that it is read again even if a place is free at once.
   */
  freshMs?: number | null;
  /** The rows of new deliveries, if this is the first attempt of one of them. */
  rows?: NewDeliveries | null;
  /** Decides by the delivery as it was read again whether to make the attempt; default: {@link isStillDue}. */
  isWanted?: (current: DeliveryProgress) => boolean;
  /** Whether to start the retries after a failure. False if the caller has its own schedule. */
  startsRetries: boolean;
};

/**
 * Time that an attempt waits for a free place, in milliseconds. The wait is prolonged up to four times while attempts of
 * its webhook end. It occupies an activity slot, so a longer wait is up to the caller.
 */
const MAX_WAIT_MS = 1_000;

/**
 * Creates the function that makes attempts: waits for a free place, checks the webhook and the delivery, sends the
 * request, records the result and starts retries. Rejects with the signal's reason if aborted before it has a result.
 */
export function createAttempts(deps: AttemptDependencies) {
  const { webhookLoader, limiter, recorder, store, control, onError, traces } = deps;

  /**
   * Every attempt belongs to the trace of the event's request, even if it is made in a group, from a backlog, or hours
   * later.
   */
  return (delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> =>
    traces.within(delivery.traceparent, () => attempt(delivery, options));

  /** Waits for a free place, checks whether the webhook may still get the delivery, and sends it. */
  async function attempt(delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> {
    const target = { webhookId: delivery.webhook_id, workspaceId: delivery.workspace_id };
    const place = await limiter.acquire(target, MAX_WAIT_MS, options.signal);
    if (place === null) return { kind: 'no_room' };
    const { release } = place;
    options.rows?.begin(delivery.id);
    let result: RecordedResult | null;
    try {
      const allowed = await lookUp(delivery, options, place.waitedMs);
      options.signal?.throwIfAborted();
      if (allowed === null) return { kind: 'unsent' };
      const { trigger, token = null, now, requestSignal: signal, rows } = options;
      const { endpoint, at: begun } = allowed;
      const made = await post(deps, endpoint, delivery, { trigger, token, now, signal, begun });
      if (made.failure === 'aborted') signal?.throwIfAborted();
      const done = { ...made, new_delivery: (await rows?.take(delivery.id)) ?? null };
      // A failure keeps its place until it is recorded. Otherwise ten more attempts could fail while the count is still
      // one.
      const recording = recorder.record(done);
      if (done.succeeded && !recorder.isOverloaded()) release();
      result = await recording;
      if (result) deps.onAttempt?.({ ...done, number: result.number });
      if (!done.succeeded) webhookLoader.forget(delivery.webhook_id);
    } finally {
      release();
    }
    if (result?.status === 'retrying' && options.startsRetries)
      await startRetries(delivery.id, result, options.now());
    return { kind: 'recorded', result };
  }

  /**
   * Reads the webhook, and the delivery if it may have changed. Returns null if nothing may be sent any more, after it
   * has recorded why: as the status for an automatic attempt or a test, in the reason for a manual attempt. An attempt
   * begins at the time of the lookup, so that an allowed one began before any later disabling.
   */
  async function lookUp(
    delivery: Post,
    { trigger, now, freshMs = 0, isWanted, rows }: AttemptOptions,
    waitedMs: number,
  ): Promise<{ endpoint: WebhookTarget; at: Date } | null> {
    const isOld = (freshMs === null || waitedMs > freshMs) && ((await rows?.hasRow(delivery.id)) ?? true);
    const lookup = await webhookLoader.loadCurrent(delivery.webhook_id, now, isOld ? delivery.id : null);
    const { endpoint, at, delivery: current } = lookup;
    const isDue = isWanted ?? ((progress: DeliveryProgress) => isStillDue(delivery, progress));
    if (isOld && !(current && isDue(current))) return null;
    const refusal = trigger === 'test' && endpoint ? null : refusalOf(endpoint);
    if (endpoint && !refusal) return { endpoint, at };
    const [status, reason] = refusal ?? DELETED;
    await rows?.store([delivery.id]);
    if (trigger !== 'manual') await store.markUnsent([delivery], status, reason, now());
    else await store.recordUnmadeRetry(delivery, { why: reason, at: now() });
    return null;
  }

  /** Starts the retries. If that fails, the reconciler starts them later, so the group continues. */
  async function startRetries(deliveryId: string, result: RecordedResult, now: Date): Promise<void> {
    const due = result.next_attempt_at?.getTime() ?? now.getTime();
    const schedule = { deliveryId, generation: result.generation };
    try {
      await control.startRetries(schedule, due - now.getTime());
      await store.markRetriesStarted(schedule);
    } catch (error) {
      onError(error, 'starting a retry failed; the reconciler will start it', deliveryId);
    }
  }
}

export type Attempt = ReturnType<typeof createAttempts>;

const DELETED = ['cancelled', 'the webhook was deleted'] as const;

/** Returns the status and the reason for not sending to a webhook, or null if it may be sent. */
export function refusalOf(
  endpoint: WebhookTarget | null,
): readonly ['held' | 'skipped' | 'cancelled', string] | null {
  if (!endpoint || endpoint.deleted_at) return DELETED;
  if (endpoint.disabled_at) return ['held', 'the webhook is disabled'];
  if (!endpoint.active) return ['skipped', INACTIVE_REASON];
  return null;
}

/** Returns Temporal's current time, in milliseconds since 1970: the machine's own, except in tests that skip time. */
export type EngineTime = () => Promise<number>;

/** Returns a clock that continues from Temporal's current time. */
export async function engineClock(engineTime: EngineTime): Promise<() => Date> {
  const ahead = (await engineTime()) - Date.now();
  return () => new Date(Date.now() + ahead);
}
