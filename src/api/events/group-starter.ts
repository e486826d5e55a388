import type { Logger } from 'pino';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import {
  countNextGroups,
  isDispatchedHere,
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
  /** Returns the first attempts in progress in this process; null if it makes none. */
  ownAttempts: (() => number) | null;
  /** Returns a time in milliseconds. Default: that of this process. */
  now?: () => number;
  inTrace?: InTrace | undefined;
  log: Logger;
};

/** Creates the starter of the process's groups of events: one workflow for all that were stored since the last one. */
export function createGroupStarter({
  store,
  control,
  ownAttempts,
  now = () => performance.now(),
  inTrace = (_traceparent, work) => work(),
  log,
}: GroupStarterDependencies): Starter<GroupToStart> {
  let elsewhereAt = Number.NEGATIVE_INFINITY;
  return createStarter<GroupToStart>({
    async start(groups) {
      const [{ id, traceparent }, ...others] = groups;
      const ids = [id, ...others.map((group) => group.id)] as const;
      const here =
        ownAttempts !== null &&
        isDispatchedHere(groups, { attempts: ownAttempts(), elsewhereAt, now: now() });
      await inTrace(traceparent, async () => {
        let isHere = false;
        try {
          isHere = await control.dispatch(ids, { here });
        } finally {
          if (!isHere) elsewhereAt = now();
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
