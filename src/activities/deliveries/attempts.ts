import type { Database } from '../../database/database.ts';
import { noteRetriesStarted, putAside } from '../../database/webhooks/dispatch.ts';
import type { AttemptResult, RecordedResult } from '../../database/webhooks/delivery-results.ts';
import type { Endpoint } from '../../database/webhooks/endpoints.ts';
import type { AttemptTrigger } from '../../domain/webhooks/delivery.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { EndpointBook } from './endpoint-book.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import { post, type Post, type PostDependencies } from './post.ts';

export type AttemptDependencies = PostDependencies & {
  database: Database;
  book: EndpointBook;
  gate: Gate;
  ledger: Ledger;
  control: Pick<DeliveryControl, 'startRetries'>;
  onTrouble: (error: unknown, what: string, deliveryId: string) => void;
  /** Told of every attempt that is recorded. */
  onAttempt?: ((attempt: AttemptResult & { number: number }) => void) | undefined;
};

/** What became of a wish to attempt: recorded, no room in time, or not to be sent. */
export type AttemptOutcome =
  | { kind: 'recorded'; result: RecordedResult | null }
  | { kind: 'no_room' }
  | { kind: 'put_aside' };

type Wish = {
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
  const { book, gate, ledger, database, control, onTrouble, traces } = deps;

  /** In the trace that the event came in by, also where it goes out in a group, from a backlog, or hours later. */
  return (delivery: Post, wish: Wish): Promise<AttemptOutcome> =>
    traces.within(delivery.traceparent, () => attempt(delivery, wish));

  /** Asks the gate, then whether the webhook still wants it, and sends. */
  async function attempt(delivery: Post, wish: Wish): Promise<AttemptOutcome> {
    const comer = { webhookId: delivery.webhook_id, workspaceId: delivery.workspace_id };
    const leave = await gate.enter(comer, wish.waitMs);
    if (leave === null) return { kind: 'no_room' };
    let result: RecordedResult | null;
    try {
      // The attempt's time is that of the look: one that passes it began before any later disabling.
      const { endpoint, at: begun } = await book.current(delivery.webhook_id, wish.now);
      const refusal = wish.trigger === 'test' && endpoint ? null : refusalOf(endpoint);
      if (refusal || !endpoint) {
        const [status, reason] = refusal ?? DELETED;
        if (wish.trigger !== 'manual') await putAside(database, [delivery.id], status, reason, wish.now());
        return { kind: 'put_aside' };
      }
      const done = await post(deps, endpoint, delivery, { ...wish, begun });
      // A failure holds its place until it is written: else ten could fail where the count stands at one.
      const recording = ledger.record(done);
      if (done.succeeded && !ledger.isCrowded()) leave();
      result = await recording;
      if (result) deps.onAttempt?.({ ...done, number: result.number });
      if (!done.succeeded) book.forget(delivery.webhook_id);
    } finally {
      leave();
    }
    if (result?.status === 'retrying' && wish.startsRetries)
      await startRetries(delivery.id, result, wish.now());
    return { kind: 'recorded', result };
  }

  /** A retry that can't be started is found by the reconciler, so the group goes on. */
  async function startRetries(deliveryId: string, result: RecordedResult, now: Date): Promise<void> {
    const due = result.next_attempt_at?.getTime() ?? now.getTime();
    try {
      await control.startRetries({ deliveryId, generation: result.generation }, due - now.getTime());
      await noteRetriesStarted(database, [deliveryId]);
    } catch (error) {
      onTrouble(error, 'starting a retry failed; the reconciler will start it', deliveryId);
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
