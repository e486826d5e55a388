import { startService, type Service } from '../support/service.ts';
import { sharedInLane } from '../support/shared.ts';

const service = sharedInLane(startService, (started) => started.close());

/** Returns the lane's service for tests that kill its parts, with every part running that an earlier test has killed. */
export async function wholeService(): Promise<Service> {
  const running = await service();
  await running.restore();
  return running;
}
