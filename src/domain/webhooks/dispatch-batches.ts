/** A stored group of events: their number, and the bytes of their payloads. */
export type StoredGroup = { id: string; events: number; bytes: number };

/** Maximum size of the groups that one workflow dispatches. A larger group gets a separate workflow. */
export const MAX_DISPATCH_EVENTS = 500;
export const MAX_DISPATCH_BYTES = 4 * 1_024 * 1_024;

/** The pause after a dispatch, in milliseconds: for each of its events, and the maximum. */
const REST_PER_EVENT_MS = 12;
const MAX_REST_MS = 120;

/** Maximum number of events that wait together and are dispatched by the process that accepted them. */
const OWN_EVENTS = 10;
/**
 * Attempts in progress with which a process dispatches nothing more itself. In one workspace, those that one webhook may have at
 * once: so hardly any attempt waits for its turn there while a delivery worker overtakes it. In all workspaces, half of those that
 * the process may have.
 */
const OWN_ATTEMPTS = 10;
const ALL_OWN_ATTEMPTS = 50;
/** Time after which the attempts of an earlier dispatch have begun in a delivery worker or are in a backlog, in milliseconds. */
export const ELSEWHERE_MS = 5_000;

/**
 * Who dispatches groups: the process that accepted them; a delivery worker; or a delivery worker only because it had earlier
 * events of the workspace, which these must not overtake.
 */
export type DispatchPlace = 'here' | 'elsewhere' | 'behind';

/**
 * What the process that accepted events knows about its dispatches. `attempts`: its own first attempts in progress, of a workspace
 * or of all. `elsewhereAt`: when it last left events of a workspace to a delivery worker that it could not dispatch itself. `now`:
 * the same clock. Both in milliseconds.
 */
export type OwnDispatches = {
  attempts: (workspaceId?: string) => number;
  elsewhereAt: ReadonlyMap<string, number>;
  now: number;
};

/** Returns how many of the groups, from the first one, the next workflow dispatches: at least one. */
export function countNextGroups(groups: readonly StoredGroup[]): number {
  let events = 0;
  let bytes = 0;
  const end = groups.findIndex((group) => {
    events += group.events;
    bytes += group.bytes;
    return events > MAX_DISPATCH_EVENTS || bytes > MAX_DISPATCH_BYTES;
  });
  return end < 0 ? groups.length : Math.max(1, end);
}

/**
 * Returns the time until the next dispatch may begin, in milliseconds. The start of a workflow costs Temporal about the
 * same whatever its size. So events that arrive slowly are dispatched one by one. Events that arrive faster than one in
 * {@link REST_PER_EVENT_MS} share a workflow: the more events, the longer the wait until the next dispatch.
 */
export function restAfterDispatch(groups: readonly StoredGroup[]): number {
  const events = groups.reduce((sum, group) => sum + group.events, 0);
  return Math.min(MAX_REST_MS, REST_PER_EVENT_MS * events);
}

/**
 * Returns who dispatches these groups, which belong to these workspaces. The process that accepted them is quicker than a task queue.
 * It does so if events arrive slowly, have few deliveries, and cannot overtake earlier ones that a delivery worker has.
 */
export function placeOfDispatch(
  groups: readonly StoredGroup[],
  workspaces: ReadonlySet<string>,
  own: OwnDispatches,
): DispatchPlace {
  const events = groups.reduce((sum, group) => sum + group.events, 0);
  if (events > OWN_EVENTS || own.attempts() >= ALL_OWN_ATTEMPTS) return 'elsewhere';
  if (workspaces.values().some((id) => own.attempts(id) >= OWN_ATTEMPTS)) return 'elsewhere';
  const isBehind = (id: string) =>
    own.now - (own.elsewhereAt.get(id) ?? Number.NEGATIVE_INFINITY) < ELSEWHERE_MS;
  return workspaces.values().some(isBehind) ? 'behind' : 'here';
}
