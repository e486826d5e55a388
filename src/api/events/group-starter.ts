import type { Logger } from 'pino';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import {
  countNextGroups,
  ELSEWHERE_MS,
  mayDispatchHere,
  restAfterDispatch,
  type StoredGroup,
} from '../../domain/webhooks/dispatch-batches.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import { createStarter, type Starter } from '../starter.ts';

/** Runs the work in the trace of a `traceparent`. */
export type InTrace = (traceparent: string | null, work: () => Promise<void>) => Promise<void>;

/** A stored group, and the trace of its first event. */
export type GroupToStart = StoredGroup & { traceparent: string | null };

type GroupStarterDependencies = {
  store: Pick<DeliveryStore, 'markGroupsStarted'>;
  control: Pick<DeliveryControl, 'dispatch'>;
  /** Null if this process makes no first attempts. */
  own: {
    /** Returns its first attempts in progress. */
    attempts: () => number;
    /** Returns those of these groups that still have first attempts to be made. */
    findOpenGroups: (ids: readonly string[]) => Promise<string[]>;
  } | null;
  /** Returns a time in milliseconds. Default: that of this process. */
  now?: () => number;
  inTrace?: InTrace | undefined;
  log: Logger;
};

/** Creates the starter of the process's groups of events: one workflow for all that were stored since the last one. */
export function createGroupStarter({
  store,
  control,
  own,
  now = () => performance.now(),
  inTrace = (_traceparent, work) => work(),
  log,
}: GroupStarterDependencies): Starter<GroupToStart> {
  /** Groups that a delivery worker may still have, and when it got them: the oldest first. */
  const elsewhere = new Map<string, number>();

  function forgetOld(): void {
    for (const [id, since] of elsewhere) {
      if (now() - since < ELSEWHERE_MS) return;
      elsewhere.delete(id);
    }
  }

  async function isBehindOthers(): Promise<boolean> {
    forgetOld();
    if (elsewhere.size === 0) return false;
    const open = new Set(await own?.findOpenGroups([...elsewhere.keys()]));
    for (const id of elsewhere.keys()) if (!open.has(id)) elsewhere.delete(id);
    return elsewhere.size > 0;
  }

  return createStarter<GroupToStart>({
    async start(groups) {
      const [{ id, traceparent }, ...others] = groups;
      const ids = [id, ...others.map((group) => group.id)] as const;
      const here =
        own !== null &&
        mayDispatchHere(groups, own.attempts()) &&
        // Without an answer, a delivery worker has them.
        !(await isBehindOthers().catch(() => true));
      await inTrace(traceparent, async () => {
        let isHere = false;
        try {
          isHere = await control.dispatch(ids, { here });
        } finally {
          forgetOld();
          if (!isHere) for (const left of ids) elsewhere.set(left, now());
        }
      });
      // If the record is lost, the groups may be started twice. The second workflow finds them claimed.
      await store
        .markGroupsStarted(ids)
        .catch((error: unknown) => log.warn({ err: error }, 'recording started groups failed'));
    },
    concurrency: 1,
    batch: countNextGroups,
    restMs: restAfterDispatch,
    what: 'groups of events',
    log,
  });
}
