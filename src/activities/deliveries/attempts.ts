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
  /** Told of every attempt that is recorded. */
  onAttempt?: ((attempt: AttemptResult & { number: number }) => void) | undefined;
};

/** What became of a wish to attempt: recorded, no room in time, or not to be sent. */
export type AttemptOutcome =
  | { kind: 'recorded'; result: RecordedResult | null }
  | { kind: 'no_room' }
  | { kind: 'unsent' };

type AttemptOptions = {
  trigger: AttemptTrigger;
  /** How long to wait for room at the gate; null: as long as it takes. */
  waitMs: number | null;
  now: () => Date;
  signal?: AbortSignal;
  /** Whether a failure's retry is started here; not where the caller's own schedule goes on. */
  startsRetries: boolean;
};

/** Makes attempts, each as one whole: room, a last look at the webhook, the request, its record, its retry. */
export function createAttempts(deps: AttemptDependencies) {
  const { endpointCache, limiter, recorder, database, control, onError, traces } = deps;

  /** In the trace that the event came in by, also where it goes out in a group, from a backlog, or hours later. */
  return (delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> =>
    traces.within(delivery.traceparent, () => attempt(delivery, options));

  /** Asks the gate, then whether the webhook still wants it, and sends. */
  async function attempt(delivery: Post, options: AttemptOptions): Promise<AttemptOutcome> {
    const target = { webhookId: delivery.webhook_id, workspaceId: delivery.workspace_id };
    const release = await limiter.acquire(target, options.waitMs);
    if (release === null) return { kind: 'no_room' };
    let result: RecordedResult | null;
    try {
      // The attempt's time is that of the look: one that passes it began before any later disabling.
      const { endpoint, at: begun } = await endpointCache.current(delivery.webhook_id, options.now);
      const refusal = options.trigger === 'test' && endpoint ? null : refusalOf(endpoint);
      if (refusal || !endpoint) {
        const [status, reason] = refusal ?? DELETED;
        if (options.trigger !== 'manual')
          await markUnsent(database, [delivery.id], status, reason, options.now());
        return { kind: 'unsent' };
      }
      const done = await post(deps, endpoint, delivery, { ...options, begun });
      // A failure holds its place until it is written: else ten could fail where the count stands at one.
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

  /** A retry that can't be started is found by the reconciler, so the group goes on. */
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

/** Why nothing is sent to a webhook now; null where it may be. */
export function refusalOf(
  endpoint: Endpoint | null,
): readonly ['held' | 'skipped' | 'cancelled', string] | null {
  if (!endpoint || endpoint.deleted_at) return DELETED;
  if (endpoint.disabled_at) return ['held', 'the webhook is disabled'];
  if (!endpoint.active) return ['skipped', 'the webhook is inactive'];
  return null;
}

/** The engine's present time, in milliseconds since 1970: the machine's own, except where a test skips time. */
export type EngineTime = () => Promise<number>;

/** A clock that goes on from the engine's present time. */
export async function engineClock(engineTime: EngineTime): Promise<() => Date> {
  const ahead = (await engineTime()) - Date.now();
  return () => new Date(Date.now() + ahead);
}
