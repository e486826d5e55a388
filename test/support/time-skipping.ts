import { TestWorkflowEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { useRuntime } from './runs.ts';
import { services } from './services.ts';
import { sharedInLane } from './shared.ts';

/** Starts a Temporal server whose clock jumps to the next timer whenever nobody works. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  useRuntime(pino({ level: 'silent' }));
  const path = await services().testServerPath();
  return await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}

/** One server for all tests of a lane that only need a clock that jumps. */
const sharedEnvironment = sharedInLane(startTimeSkipping, (environment) => environment.teardown());

/** Registers a hook that gives tests the lane's server whose clock jumps. */
export function useTimeSkipping(): TestWorkflowEnvironment {
  let environment: TestWorkflowEnvironment | undefined;
  before(async () => {
    environment = await sharedEnvironment();
  });
  return new Proxy({} as TestWorkflowEnvironment, {
    get: (_, name) => Reflect.get(environment ?? {}, name, environment),
  });
}

/** Returns what delivery workers need to work on such a server. */
export function skippingEngine(environment: TestWorkflowEnvironment) {
  return {
    connection: environment.nativeConnection,
    client: environment.client,
    namespace: environment.namespace ?? 'default',
    time: () => environment.currentTimeMs(),
  };
}
