import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RetryActivities } from '../activities/deliveries/retries.ts';
import { CONCURRENT_ATTEMPTS } from '../domain/common/limits.ts';
import { placeWaitMs } from '../domain/common/retry-schedules.ts';
import { BACKLOG_SIGNAL, type BacklogInput } from '../temporal/delivery-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

const { drainBacklog } = proxyActivities<RetryActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '5 min',
  retry: { initialInterval: '1 s', maximumInterval: '30 s' },
});

const moreSignal = defineSignal(BACKLOG_SIGNAL);
/** Time that the workflow of an empty backlog waits for more deliveries, in milliseconds. */
const LINGER_MS = 2_000;
/** Longest wait between two rounds that get no place, in milliseconds. */
const CROWDED_MS = 5_000;

/**
 * Sends the backlog of one webhook: deliveries that got no place in time, and recovered ones. Starts with one concurrent
 * attempt and doubles the number after each successful round. Waits if the webhook gets no place.
 */
export async function endpointBacklog({ webhookId }: BacklogInput): Promise<void> {
  let isSignalled = true;
  setHandler(moreSignal, () => void (isSignalled = true), { description: 'There is more in the backlog' });
  let width = 1;
  let crowdedRounds = 0;
  while (isSignalled) {
    isSignalled = false;
    const { isMore, isWell, isCrowded } = await drainBacklog({ webhookId, width });
    crowdedRounds = isCrowded ? crowdedRounds + 1 : 0;
    if (crowdedRounds > 0) await sleep(placeWaitMs(crowdedRounds, CROWDED_MS, Math.random()));
    else width = isWell ? Math.min(CONCURRENT_ATTEMPTS, width * 2) : 1;
    if (isMore) isSignalled = true;
    else if (!isSignalled) await condition(() => isSignalled, LINGER_MS);
    if (isSignalled && workflowInfo().continueAsNewSuggested) await continueAsNew({ webhookId });
  }
}

setWorkflowOptions(autoUpgrade, endpointBacklog);
