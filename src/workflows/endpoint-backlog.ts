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
import type { ManualRetryActivities } from '../activities/deliveries/manual-retries.ts';
import type { RetryActivities } from '../activities/deliveries/retries.ts';
import { CONCURRENT_ATTEMPTS } from '../domain/common/limits.ts';
import { placeWaitMs } from '../domain/common/retry-schedules.ts';
import { BACKLOG_SIGNAL, type BacklogInput } from '../temporal/delivery-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

const { drainBacklog, makeManualRetries } = proxyActivities<RetryActivities & ManualRetryActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '5 min',
  retry: { initialInterval: '1 s', maximumInterval: '30 s' },
});

const moreSignal = defineSignal(BACKLOG_SIGNAL);
/** Time that a workflow with nothing to send waits for more, in milliseconds. */
const LINGER_MS = 2_000;
/** Longest wait between two rounds that get no place, in milliseconds. */
const CROWDED_MS = 5_000;

/** `isMore`: there is more to send. `isCrowded`: no place was free for any attempt. */
type Round = { isMore: boolean; isCrowded?: boolean };

/**
 * Sends the backlog of one webhook: deliveries that got no place in time, and recovered ones. Starts with one concurrent
 * attempt and doubles the number after each successful round. Waits if the webhook gets no place.
 */
export async function endpointBacklog({ webhookId }: BacklogInput): Promise<void> {
  let width = 1;
  await repeatRounds({ webhookId }, async () => {
    const round = await drainBacklog({ webhookId, width });
    if (!round.isCrowded) width = round.isWell ? Math.min(CONCURRENT_ATTEMPTS, width * 2) : 1;
    return round;
  });
}

setWorkflowOptions(autoUpgrade, endpointBacklog);

/** Makes the manual retries of one webhook. Waits if the webhook gets no place. */
export async function manualRetries({ webhookId }: BacklogInput): Promise<void> {
  await repeatRounds({ webhookId }, () => makeManualRetries({ webhookId }));
}

setWorkflowOptions(autoUpgrade, manualRetries);

/** Repeats rounds until there is nothing more to send, and for a while no signal that there is. */
async function repeatRounds(input: BacklogInput, makeRound: () => Promise<Round>): Promise<void> {
  let isSignalled = true;
  setHandler(moreSignal, () => void (isSignalled = true), { description: 'More deliveries are waiting' });
  let crowdedRounds = 0;
  while (isSignalled) {
    isSignalled = false;
    const { isMore, isCrowded } = await makeRound();
    crowdedRounds = isCrowded ? crowdedRounds + 1 : 0;
    if (crowdedRounds > 0) await sleep(placeWaitMs(crowdedRounds, CROWDED_MS, Math.random()));
    if (isMore) isSignalled = true;
    else if (!isSignalled) await condition(() => isSignalled, LINGER_MS);
    if (isSignalled && workflowInfo().continueAsNewSuggested) await continueAsNew(input);
  }
}
