/** A stored group of events: their number, and the bytes of their payloads. */
export type StoredGroup = { id: string; events: number; bytes: number };

/** A stored group, and the workspaces of its events. */
export type GroupOfWorkspaces = StoredGroup & { workspaces: readonly string[] };

/** Maximum size of the groups that one workflow dispatches. A larger group gets a separate workflow. */
export const MAX_DISPATCH_EVENTS = 500;
export const MAX_DISPATCH_BYTES = 4 * 1_024 * 1_024;

/** The pause after a dispatch, in milliseconds: for each of its events, and the maximum. */
const REST = { perEventMs: 12, maxMs: 120 };
/** The same during a burst: while more than 400 events of one workspace arrive in a second. */
const BURST_REST = { perEventMs: 2.5, maxMs: 300 };

/**
 * Maximum number of waiting events of a workspace without a burst, and of events that the process that accepted them dispatches
 * together.
 */
export const FEW_EVENTS = 10;
/**
 * Attempts in progress of one workspace with which a process dispatches nothing more of it: those that one webhook may have at once,
 * so that hardly any attempt waits for its turn there while a delivery worker overtakes it.
 */
const OWN_ATTEMPTS = 10;
/**
 * The same for all workspaces, and the maximum number of concurrent attempts of an API process, which must still answer requests
 * quickly. An event may have hundreds of deliveries.
 */
export const ALL_OWN_ATTEMPTS = 50;
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

/** Returns the workspaces of the groups' events. */
export function workspacesOf(groups: readonly GroupOfWorkspaces[]): Set<string> {
  return new Set(groups.flatMap(({ workspaces }) => workspaces));
}

function countEvents(groups: readonly StoredGroup[]): number {
  return groups.reduce((sum, { events }) => sum + events, 0);
}

/**
 * Returns the requests that are stored together in their groups, as indexes. A workspace with several events has a group, so that
 * its burst waits separately; the others share one, because a group costs about as much as an event.
 */
export function groupRequests(
  requests: readonly (readonly { workspaceId: string }[])[],
): readonly (readonly number[])[] {
  const ofEach = Map.groupBy(requests.flat(), ({ workspaceId }) => workspaceId);
  const several = [...ofEach].filter(([, { length }]) => length > 1);
  const withSeveral = new Set(several.map(([id]) => id));
  const groups = Map.groupBy(
    requests.entries(),
    ([, events]) => events.find(({ workspaceId }) => withSeveral.has(workspaceId))?.workspaceId,
  );
  return Array.from(groups.values(), (entries) => entries.map(([index]) => index));
}

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
 * Returns how long after the dispatch of `last` that of `waiting` may begin, in milliseconds. The start of a workflow costs
 * Temporal about the same whatever its size. So events that arrive slowly are dispatched one by one. Events that arrive
 * faster than one in 12 ms share a workflow: the more events, the longer the wait until the next dispatch. In the burst of one
 * workspace it can be longer than for events of several. Few events that follow a burst do not wait so long.
 */
export function restAfterDispatch(
  last: readonly GroupOfWorkspaces[],
  waiting: readonly GroupOfWorkspaces[],
): number {
  const restOf = ({ perEventMs, maxMs }: typeof REST, events: number) => Math.min(maxMs, perEventMs * events);
  const events = countEvents(last);
  const rest = restOf(REST, events);
  if (workspacesOf([...last, ...waiting]).size > 1) return rest;
  return Math.max(rest, restOf(BURST_REST, Math.min(events, countEvents(waiting))));
}

/**
 * Returns who dispatches these groups, which belong to these workspaces. The process that accepted them is quicker than a task queue.
 * It does so if events arrive slowly, few of its attempts are in progress, and the events cannot overtake earlier ones that a
 * delivery worker has.
 */
export function placeOfDispatch(
  groups: readonly StoredGroup[],
  workspaces: ReadonlySet<string>,
  own: OwnDispatches,
): DispatchPlace {
  if (countEvents(groups) > FEW_EVENTS || own.attempts() >= ALL_OWN_ATTEMPTS) return 'elsewhere';
  if (workspaces.values().some((id) => own.attempts(id) >= OWN_ATTEMPTS)) return 'elsewhere';
  const isBehind = (id: string) =>
    own.now - (own.elsewhereAt.get(id) ?? Number.NEGATIVE_INFINITY) < ELSEWHERE_MS;
  return workspaces.values().some(isBehind) ? 'behind' : 'here';
}
