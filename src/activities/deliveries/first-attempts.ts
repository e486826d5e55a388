import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import { within } from '../../domain/common/within.ts';
import type { Attempt } from './attempts.ts';
import type { NewDeliveries } from './new-deliveries.ts';
import type { Post } from './post.ts';
import { beginTurn } from '../../domain/common/turn.ts';

export type FirstAttemptDependencies = {
  store: DeliveryStore;
  attempt: Attempt;
  control: Pick<DeliveryControl, 'drainBacklog'>;
};

/**
 * Time that a new delivery waits without being read again before its attempt, in milliseconds. In a burst for a quick
 * receiver nearly every attempt waits that long, and nothing else sends a delivery so soon after it was stored.
 */
const FRESH_MS = 100;
/** Batching window for moves to the backlog, in milliseconds. */
const BATCH_MS = 20;
/** Time for attempts in flight at shutdown, in milliseconds. */
const GRACE_MS = 5_000;

/** The first attempts of a process. */
export type FirstAttempts = ReturnType<typeof createFirstAttempts>;

/** Creates the first attempts of this process: it knows which are in flight, so that none is made twice at once. */
export function createFirstAttempts({ store, attempt, control }: FirstAttemptDependencies) {
  const inFlight = new Map<string, { workspaceId: string; sending: Promise<void> }>();

  return {
    /**
     * Starts the attempts concurrently, in order and in turns. A delivery that is in flight already is not sent again. Each
     * promise resolves when its attempt is recorded, or its delivery is in the backlog. `rows`: those of new deliveries.
     * `throwIfLate` is called in each turn; what it throws, this throws, and the attempts begun until then continue.
     */
    async start(
      deliveries: Iterable<Post>,
      now: () => Date,
      { rows = null, throwIfLate }: { rows?: NewDeliveries | null; throwIfLate?: () => void } = {},
    ): Promise<Map<string, Promise<void>>> {
      const enqueue = createBacklogBatcher({ store, control, now });
      const sendOne = async (delivery: Post): Promise<void> => {
        const outcome = await attempt(delivery, {
          trigger: 'automatic',
          now,
          freshMs: FRESH_MS,
          startsRetries: true,
          rows,
        });
        if (outcome.kind !== 'no_room') return;
        await rows?.store([delivery.id]);
        await enqueue(delivery);
      };
      const started = new Map<string, Promise<void>>();
      const turn = beginTurn();
      for (const delivery of deliveries) {
        const { id, workspace_id: workspaceId } = delivery;
        let sending = inFlight.get(id)?.sending;
        if (!sending) {
          sending = sendOne(delivery).finally(() => inFlight.delete(id));
          // The caller handles the error, which may come before this returns.
          sending.catch(() => {});
          inFlight.set(id, { workspaceId, sending });
        }
        started.set(id, sending);
        if (!turn.isOver()) continue;
        await turn.next();
        throwIfLate?.();
      }
      return started;
    },

    /** Returns the attempts in flight among these deliveries. */
    among(ids: Iterable<string>): Map<string, Promise<void>> {
      const found = new Map<string, Promise<void>>();
      for (const id of ids) {
        const known = inFlight.get(id);
        if (known) found.set(id, known.sending);
      }
      return found;
    },

    /** Returns the number of attempts that are in flight or wait for their turn, of a workspace or of all. */
    inProgress(workspaceId?: string): number {
      if (workspaceId === undefined) return inFlight.size;
      return [...inFlight.values()].filter((one) => one.workspaceId === workspaceId).length;
    },

    /**
     * Waits briefly for the attempts in flight, which may outlive the activity that started them. Another process sends the
     * others again.
     */
    async close(): Promise<void> {
      await within(GRACE_MS, Promise.allSettled([...inFlight.values()].map(({ sending }) => sending)));
    },
  };
}

/** Returns a function that moves deliveries to the backlogs of their webhooks, in one batch for each window. */
function createBacklogBatcher({
  store,
  control,
  now,
}: Pick<FirstAttemptDependencies, 'store' | 'control'> & { now: () => Date }) {
  let next: { deliveries: Post[]; moved: Promise<void> } | null = null;

  async function moveAll(deliveries: readonly Post[]): Promise<void> {
    const ids = deliveries.map(({ id }) => id);
    await store.moveToBacklog(ids, now());
    const webhooks = new Set(deliveries.map(({ webhook_id: id }) => id));
    await Promise.all([...webhooks].map((webhookId) => control.drainBacklog(webhookId)));
  }

  return (delivery: Post): Promise<void> => {
    if (next === null) {
      const deliveries: Post[] = [];
      const moved = wait(BATCH_MS).then(() => {
        next = null;
        return moveAll(deliveries);
      });
      next = { deliveries, moved };
    }
    next.deliveries.push(delivery);
    return next.moved;
  };
}
