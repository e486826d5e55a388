import type { StartQueue } from '../common/start-queue.ts';
import {
  countNextGroups,
  FEW_EVENTS,
  restAfterDispatch,
  workspacesOf,
  type GroupOfWorkspaces,
} from './dispatch-batches.ts';

/** The last dispatch of a lane. */
type Dispatch<Group> = { at: number; groups: readonly Group[] };

/**
 * Creates the queue of the groups of events that a process has stored. A workspace with more than few waiting events has a burst.
 * Bursts wait in one lane and all other events in another. Each lane has its own dispatches and its own pauses between them. So
 * the events of a quiet workspace do not wait for the burst of another one, nor follow it to a delivery worker. Events of one
 * workspace are dispatched in their order.
 */
export function createDispatchQueue<Group extends GroupOfWorkspaces>(): StartQueue<Group> {
  let waiting: Group[] = [];
  const nothing: Dispatch<Group> = { at: Number.NEGATIVE_INFINITY, groups: [] };
  const last = { few: nothing, burst: nothing };

  /** Returns the workspaces with a burst: now, or before the pause after the last dispatch of bursts. */
  function bursting(now: number): Set<string> {
    const events = new Map<string, number>();
    for (const group of waiting) {
      for (const id of group.workspaces)
        events.set(id, (events.get(id) ?? 0) + group.events / group.workspaces.length);
    }
    const found = new Set([...events.keys()].filter((id) => (events.get(id) ?? 0) > FEW_EVENTS));
    const { at, groups } = last.burst;
    return now < at + restAfterDispatch(groups, []) ? found.union(workspacesOf(groups)) : found;
  }

  /** Returns the waiting groups of each lane. Those of one workspace are all in the same one, so that they keep their order. */
  function lanes(now: number): { few: readonly Group[]; burst: readonly Group[] } {
    const inBurst = bursting(now);
    const isInBurst = ({ workspaces }: Group) => workspaces.some((id) => inBurst.has(id));
    for (let before = -1; before < inBurst.size; ) {
      before = inBurst.size;
      for (const id of workspacesOf(waiting.filter(isInBurst))) inBurst.add(id);
    }
    return { few: waiting.filter((group) => !isInBurst(group)), burst: waiting.filter(isInBurst) };
  }

  return {
    get size() {
      return waiting.length;
    },
    add: (group) => void waiting.push(group),
    take(now) {
      const groups = lanes(now);
      const dueAt = (lane: 'few' | 'burst') =>
        groups[lane].length > 0
          ? last[lane].at + restAfterDispatch(last[lane].groups, groups[lane])
          : Number.POSITIVE_INFINITY;
      const due = { few: dueAt('few'), burst: dueAt('burst') };
      // The lane that has waited longer is next, so neither waits for more than one dispatch of the other.
      const next = due.few <= due.burst ? 'few' : 'burst';
      const [first, ...others] = groups[next].slice(0, countNextGroups(groups[next]));
      if (first === undefined) return null;
      if (due[next] > now) return due[next];
      last[next] = { at: now, groups: [first, ...others] };
      const taken = new Set([first, ...others]);
      waiting = waiting.filter((group) => !taken.has(group));
      return [first, ...others];
    },
    clear() {
      waiting = [];
    },
  };
}
