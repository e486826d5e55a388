import { startService, type Service } from '../support/service.ts';

let starting: Promise<Service> | null = null;
let users = 0;

async function close(): Promise<void> {
  const service = await starting;
  starting = null;
  await service?.close();
}

// Suites of which no test was chosen never tell that they are over.
after(async function () {
  this.timeout(60_000);
  await close();
});

/**
 * The one service that the suites here kill parts of, brought up when the first test asks and closed after the last
 * suite. Called in the body of a suite; what it answers gives the service, whole whatever the test before has left.
 */
export function useWholeService(): () => Promise<Service> {
  users += 1;
  after(async () => {
    users -= 1;
    if (users === 0) await close();
  });
  return async () => {
    starting ??= startService();
    const service = await starting;
    await service.restore();
    return service;
  };
}
