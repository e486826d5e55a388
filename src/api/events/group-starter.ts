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
  /** Returns the dispatches that this process runs at the moment; null if it runs none itself. */
  ownDispatches: (() => number) | null;
  inTrace?: InTrace | undefined;
  log: Logger;
};

/** Creates the starter of the process's groups of events: one workflow for all that were stored since the last one. */
export function createGroupStarter({
  store,
  control,
  ownDispatches,
  inTrace = (_traceparent, work) => work(),
  log,
}: GroupStarterDependencies): Starter<GroupToStart> {
  return createStarter<GroupToStart>({
    async start(groups) {
      const [{ id, traceparent }, ...others] = groups;
      const ids = [id, ...others.map((group) => group.id)] as const;
      const here = ownDispatches !== null && isDispatchedHere(groups, ownDispatches());
      await inTrace(traceparent, () => control.dispatch(ids, { here }));
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
