import { useCallbackReceiver } from '../support/callback-receiver.ts';
import type { Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { sharedInLane } from '../support/shared.ts';

const laneService = sharedInLane(startService, (started) => started.close());

/** Returns the lane's service for tests that kill its parts. Parts that an earlier test has killed are restarted. */
export async function runningService(): Promise<Service> {
  const running = await laneService();
  await running.restore();
  return running;
}

/**
 * Registers a hook that gives each test of a `describe` the whole service, and a separate receiver for callbacks. The
 * result is filled before each test.
 */
export function useService(): { service: Service; receiver: Receiver } {
  const service = {} as Service;
  beforeEach(async () => void Object.assign(service, await runningService()));
  return { service, receiver: useCallbackReceiver('each test') };
}
