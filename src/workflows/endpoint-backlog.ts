import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { RetryActivities } from '../activities/deliveries/retries.ts';
import { ATTEMPTS_AT_ONCE } from '../domain/common/limits.ts';
import { BACKLOG_SIGNAL, type BacklogInput } from '../temporal/delivery-messages.ts';
import { moveOn } from './move-on.ts';

const { drainBacklog } = proxyActivities<RetryActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '5 min',
  retry: { initialInterval: '1 s', maximumInterval: '30 s' },
});

const moreSignal = defineSignal(BACKLOG_SIGNAL);
/** A backlog that is empty stays for a moment, in case more comes. */
const LINGER_MS = 2_000;

/**
 * Sends what one webhook could not take at once, and what was recovered: gently at first, twice as many at once
 * after each good round.
 */
export async function endpointBacklog({ webhookId }: BacklogInput): Promise<void> {
  let isTold = true;
  setHandler(moreSignal, () => void (isTold = true), { description: 'There is more in the backlog' });
  let width = 1;
  while (isTold) {
    isTold = false;
    const { isMore, isWell } = await drainBacklog({ webhookId, width });
    width = isWell ? Math.min(ATTEMPTS_AT_ONCE, width * 2) : 1;
    if (isMore) isTold = true;
    else if (!isTold) await condition(() => isTold, LINGER_MS);
    if (isTold && workflowInfo().continueAsNewSuggested) await continueAsNew({ webhookId });
  }
}

setWorkflowOptions(moveOn, endpointBacklog);
