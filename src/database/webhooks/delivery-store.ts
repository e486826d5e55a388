import type { Database } from '../database.ts';
import { renewGroup } from '../common/renewed-groups.ts';
import { findRecordedResults, recordResults } from './delivery-results.ts';
import {
  claimGroups,
  findDeliveryIds,
  findWaiting,
  findWaitingOfGroups,
  listBacklog,
  listForgottenBacklogs,
  listOverdueDeliveries,
  listUnstartedRetries,
  markGroupsDone,
  markRetriesStarted,
  markUnsent,
  moveToBacklog,
  readDeliveriesToSend,
  readProgress,
  storeDeliveries,
} from './dispatch.ts';
import { endManualRetries, listManualRetries, listWebhooksWithManualRetries } from './manual-retries.ts';
import { listUnfinishedGroups, listUnstartedGroups, markGroupsStarted } from './events.ts';
import {
  endScheduledRetry,
  listOverdueRetries,
  markMadeRetries,
  recordUnmadeRetry,
  startScheduledRetry,
} from './scheduled-retries.ts';
import { holdOrCancelWaiting, listWebhooksWithWaiting } from './waiting-deliveries.ts';
import { listTargetsForGroups, readTargets } from './webhook-targets.ts';

const STATEMENTS = {
  claimGroups,
  endManualRetries,
  endScheduledRetry,
  findDeliveryIds,
  findRecordedResults,
  findWaiting,
  findWaitingOfGroups,
  holdOrCancelWaiting,
  listBacklog,
  listForgottenBacklogs,
  listManualRetries,
  listOverdueDeliveries,
  listOverdueRetries,
  listTargetsForGroups,
  listUnfinishedGroups,
  listUnstartedGroups,
  listUnstartedRetries,
  listWebhooksWithManualRetries,
  listWebhooksWithWaiting,
  markGroupsDone,
  markGroupsStarted,
  markMadeRetries,
  markRetriesStarted,
  markUnsent,
  moveToBacklog,
  readDeliveriesToSend,
  readProgress,
  readTargets,
  recordResults,
  recordUnmadeRetry,
  renewGroup,
  startScheduledRetry,
  storeDeliveries,
};

type Statements = typeof STATEMENTS;
type AnyStatement = (database: Database, ...rest: never[]) => unknown;
type Bound<Given> = Given extends (database: Database, ...rest: infer Rest) => infer Result
  ? (...rest: Rest) => Result
  : never;

/**
 * What delivery workers and the reconciler read and write. Each call is one transaction, except `holdOrCancelWaiting`.
 * The simulation has the same in memory.
 */
export type DeliveryStore = { [Name in keyof Statements]: Bound<Statements[Name]> };

/** Returns the statements of `src/database/webhooks` for one database. */
export function createDeliveryStore(database: Database): DeliveryStore {
  const bound = Object.entries<AnyStatement>(STATEMENTS).map(([name, statement]) => [
    name,
    statement.bind(null, database),
  ]);
  return Object.fromEntries(bound) as DeliveryStore;
}
