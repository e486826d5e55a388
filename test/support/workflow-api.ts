import { registerHooks } from 'node:module';

export { ActivityFailure, ApplicationFailure } from '@temporalio/common';

/*
 * Replaces `@temporalio/workflow` in a test of a workflow's decisions, without a history or a sandbox. The test sets the
 * functions of `host`.
 */

type Called = { activity: string; options: unknown; input: unknown };

export const host = {
  activities: {} as Record<string, (input: never) => Promise<unknown>>,
  /** The calls of activities, with the options of the workflow. */
  called: [] as Called[],
  slept: [] as number[],
  signal: () => {},
  isLong: false,
};

/** Imports a workflow by its path in `src/workflows`, with this file instead of `@temporalio/workflow`. */
export async function importWorkflow<Exports>(path: string): Promise<Exports> {
  const url = new URL(`../../src/workflows/${path}?with=workflow-api`, import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === '@temporalio/workflow' && context.parentURL === url
        ? { url: import.meta.url, shortCircuit: true }
        : next(specifier, context),
  });
  try {
    return (await import(url)) as Exports;
  } finally {
    hooks.deregister();
  }
}

export const proxyActivities = (options: unknown) =>
  new Proxy({}, { get: (_, activity: string) => activityOf(activity, options) });
export const proxyLocalActivities = (options: object) => proxyActivities({ isLocal: true, ...options });

function activityOf(activity: string, options: unknown) {
  const call = (given: unknown) => (input: never) => {
    host.called.push({ activity, options: given, input });
    return host.activities[activity]?.(input);
  };
  const executeWithOptions = (more: object, [input]: [never]) =>
    call({ ...(options as object), ...more })(input);
  return Object.assign(call(options), { executeWithOptions });
}

export const sleep = async (ms: number) => void host.slept.push(ms);
/** The time is over at once. */
export const condition = async (isMet: () => boolean) => isMet();
export const defineSignal = (name: string) => name;
export const setHandler = (_signal: string, handle: () => void) => void (host.signal = handle);
export const setWorkflowOptions = () => {};
export const workflowInfo = () => ({ continueAsNewSuggested: host.isLong, taskQueue: 'test-runs' });

/** Ends an execution, as in the SDK. */
export class Continued extends Error {}
export function continueAsNew(): never {
  throw new Continued();
}
