import { TestWorkflowEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { useRuntime } from './runs.ts';
import { services } from './services.ts';
import { sharedInLane } from './shared.ts';

/** Starts a Temporal server that skips to the next timer whenever no activity runs. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  useRuntime(pino({ level: 'silent' }));
  const path = await services().testServerPath();
  return await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}

/** One time-skipping server for all tests of a lane that need no separate one. */
const sharedEnvironment = sharedInLane(startTimeSkipping, (environment) => environment.teardown());

/** Registers a hook that gives tests the lane's time-skipping server. */
export function useTimeSkipping(): TestWorkflowEnvironment {
  let environment: TestWorkflowEnvironment | undefined;
  before(async () => {
    environment = await sharedEnvironment();
  });
  return new Proxy({} as TestWorkflowEnvironment, {
    get: (_, name) => Reflect.get(environment ?? {}, name, environment),
  });
}

/** Returns the connection of delivery workers to such a server. */
export function skippingEngine(environment: TestWorkflowEnvironment) {
  return {
    connection: environment.nativeConnection,
    client: environment.client,
    namespace: environment.namespace ?? 'default',
    time: () => environment.currentTimeMs(),
  };
}
