import type { Logger } from 'pino';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import {
  ELSEWHERE_MS,
  placeOfDispatch,
  workspacesOf,
  type OwnDispatches,
  type GroupOfWorkspaces,
} from '../../domain/webhooks/dispatch-batches.ts';
import { createDispatchQueue } from '../../domain/webhooks/dispatch-queue.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import { createStarter, type Starter } from '../starter.ts';

/** Runs the work in the trace of a `traceparent`. */
export type InTrace = (traceparent: string | null, work: () => Promise<void>) => Promise<void>;

/** A stored group, and the trace of its first event. */
export type GroupToStart = GroupOfWorkspaces & { traceparent: string | null };

type GroupStarterDependencies = {
  store: Pick<DeliveryStore, 'markGroupsStarted'>;
  control: Pick<DeliveryControl, 'dispatch'>;
  /** Returns the first attempts in progress in this process, of a workspace or of all; null if it makes none. */
  ownAttempts: OwnDispatches['attempts'] | null;
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
  /** When events of a workspace were last left to a delivery worker; the oldest first. */
  const elsewhereAt = new Map<string, number>();

  function leave(workspaces: ReadonlySet<string>): void {
    const at = now();
    for (const id of workspaces) {
      elsewhereAt.delete(id);
      elsewhereAt.set(id, at);
    }
    for (const [id, since] of elsewhereAt) {
      if (at - since < ELSEWHERE_MS) break;
      elsewhereAt.delete(id);
    }
  }

  return createStarter<GroupToStart>({
    async start(groups) {
      const [{ id, traceparent }, ...others] = groups;
      const ids = [id, ...others.map((group) => group.id)] as const;
      const workspaces = workspacesOf(groups);
      const place = ownAttempts
        ? placeOfDispatch(groups, workspaces, { attempts: ownAttempts, elsewhereAt, now: now() })
        : 'elsewhere';
      await inTrace(traceparent, async () => {
        let isHere = false;
        try {
          isHere = await control.dispatch(ids, { here: place === 'here' });
        } finally {
          // A dispatch that only follows others does not keep the next ones there, or a slow flow would never return.
          if (!isHere && place !== 'behind') leave(workspaces);
        }
      });
      // If the record is lost, the groups may be started twice. The second workflow finds them claimed.
      await store
        .markGroupsStarted(ids)
        .catch((error: unknown) => log.warn({ err: error }, 'recording started groups failed'));
    },
    concurrency: 1,
    queue: createDispatchQueue(),
    what: 'groups of events',
    log,
  });
}
