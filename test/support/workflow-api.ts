/*
 * Replaces `@temporalio/workflow` in a test of a workflow's decisions, without a history or a sandbox. The test sets the
 * functions of `host`.
 */

export const host = {
  activities: {} as Record<string, (input: never) => Promise<unknown>>,
  slept: [] as number[],
  signal: () => {},
  isLong: false,
};

export const proxyActivities = () =>
  new Proxy({}, { get: (_, name: string) => (input: never) => host.activities[name]?.(input) });
export const sleep = async (ms: number) => void host.slept.push(ms);
/** The time is over at once. */
export const condition = async (isMet: () => boolean) => isMet();
export const defineSignal = (name: string) => name;
export const setHandler = (_signal: string, handle: () => void) => void (host.signal = handle);
export const setWorkflowOptions = () => {};
export const workflowInfo = () => ({ continueAsNewSuggested: host.isLong });

/** Ends an execution, as in the SDK. */
export class Continued extends Error {}
export function continueAsNew(): never {
  throw new Continued();
}
