import { AsyncLocalStorage } from 'node:async_hooks';

/*
 * Replaces `@temporalio/workflow`: the parts that the workflows of deliveries use, with the simulated engine. Replays are not
 * simulated; `test/workflows/replay.test.ts` replays recorded histories in the real sandbox.
 */

export { ActivityFailure, ApplicationFailure } from '@temporalio/common';

/** Options of an activity. Durations are texts such as `8 s`. */
export type ActivityOptions = {
  heartbeatTimeout?: string;
  startToCloseTimeout: string;
  retry: { initialInterval: string; maximumInterval: string };
};

export type ActivityCall = { name: string; args: unknown[]; options: ActivityOptions; isLocal: boolean };

/** The functions that the engine provides to the running workflow. */
export type WorkflowHost = {
  execute(call: ActivityCall): Promise<unknown>;
  sleep(ms: number): Promise<void>;
  condition(isMet: () => boolean, ms: number): Promise<boolean>;
  setHandler(signal: string, handle: () => void): void;
};

export const currentWorkflow = new AsyncLocalStorage<WorkflowHost>();

function host(): WorkflowHost {
  const found = currentWorkflow.getStore();
  if (!found) throw new Error('this is not a workflow');
  return found;
}

function proxyOf(options: ActivityOptions, isLocal: boolean) {
  return new Proxy(
    {},
    {
      get: (_, name: string) => {
        const execute = (args: unknown[]) => host().execute({ name, args, options, isLocal });
        return Object.assign((...args: unknown[]) => execute(args), {
          executeWithOptions: (_options: unknown, args: unknown[]) => execute(args),
        });
      },
    },
  );
}

export const proxyActivities = (options: ActivityOptions) => proxyOf(options, false);
export const proxyLocalActivities = (options: ActivityOptions) => proxyOf(options, true);
export const sleep = (ms: number) => host().sleep(ms);
export const condition = (isMet: () => boolean, ms: number) => host().condition(isMet, ms);
export const defineSignal = (name: string) => name;
export const setHandler = (signal: string, handle: () => void) => host().setHandler(signal, handle);
export const setWorkflowOptions = () => {};
export const workflowInfo = () => ({ continueAsNewSuggested: false, taskQueue: 'baton-deliveries' });
export function continueAsNew(): never {
  throw new Error('the engine suggests no continuation');
}
