import type { AttemptLimiter } from '../src/activities/deliveries/attempt-limiter.ts';
import { createAttemptLimiter } from '../src/activities/deliveries/attempt-limiter.ts';
import { createDeliveryActivities } from '../src/activities/deliveries/delivery-activities.ts';
import type { AttemptLimits } from '../src/domain/webhooks/attempt-scheduler.ts';
import type { Traces } from '../src/outbound/traces.ts';
import type { DeliveryControl } from '../src/temporal/delivery-control.ts';
import type { Worker } from './engine/tasks.ts';
import type { MemoryStore } from './store/memory-store.ts';
import { createProcess, type Clock } from './world/clock.ts';
import type { Receivers } from './world/receivers.ts';

export type WorkerDependencies = {
  clock: Clock;
  store: MemoryStore;
  control: DeliveryControl;
  receivers: Receivers;
  limits: AttemptLimits;
  /** Watches the places of a worker. */
  watchPlaces: (limiter: AttemptLimiter) => AttemptLimiter;
  trace: (line: string) => void;
};

/** Adds a header with the trigger of the attempt, for the receivers. */
const TRACES: Traces = {
  within: (_traceparent, work) => work(),
  begin: ({ attributes }) => ({
    headers: { 'x-trigger': attributes['baton.trigger'] ?? '' },
    end: () => {},
  }),
};

/** Starts a delivery worker with the activities of production. */
export function startWorker(name: string, deps: WorkerDependencies): Worker {
  const { clock, store, control, receivers, limits, trace, watchPlaces } = deps;
  const process = createProcess(name);
  const deliveries = clock.within(process, () =>
    createDeliveryActivities({
      store,
      control,
      engineTime: async () => Date.now(),
      limiter: watchPlaces(createAttemptLimiter(limits)),
      sender: receivers.sender,
      relay: { attempt: () => Promise.reject(new Error('there are no listeners')) },
      openSecret: (sealed) => sealed,
      traces: TRACES,
      onError: (error, what) => trace(`${name} ${what}: ${(error as Error).message}`),
      onDisabled: ({ webhookId }) => trace(`${name} disabled ${webhookId}`),
    }),
  );
  return { process, ...deliveries };
}
