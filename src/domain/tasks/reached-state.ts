import type { FeedEntry } from './feed-events.ts';
import type { RunChange } from './run-change.ts';
import type { RunView } from './run-schemas.ts';
import { ACTIVE_STATES, type ActiveState } from './task-states.ts';

/** How far a run has come, as its row shows it. */
export type Reached = Pick<RunView, 'state' | 'paused_from' | 'steps' | 'started_at'>;

/** Returns the position of the state of a run, or of the state that it is paused from; Infinity if it has ended. */
export function positionOf({ state, paused_from }: Pick<RunView, 'state' | 'paused_from'>): number {
  const position = ACTIVE_STATES.indexOf((paused_from ?? state) as ActiveState);
  return position === -1 ? Infinity : position;
}

/**
 * Returns a change in which the run stays as far as it has come.
 *
 * If Temporal loses a workflow task, it repeats it after the signals that have arrived since. What the lost task has recorded
 * is unknown to the workflow then: it may pause and continue the run in `initializing`, although callers have seen it
 * `executing`. They see it paused and continued in `executing`, until the workflow has come as far again.
 */
export function keepReached(change: RunChange, reached: Reached): RunChange {
  const { view, entries } = change;
  const later = ACTIVE_STATES[positionOf(reached)];
  // An ended run never changes.
  if (view === null || later === undefined || positionOf(view) >= positionOf(reached)) return change;
  const raise = (state: unknown) => (isEarlier(state, later) ? later : state);
  return {
    ...change,
    view: {
      ...view,
      state: raise(view.state) as RunView['state'],
      paused_from: raise(view.paused_from) as RunView['paused_from'],
      steps: view.steps.length === 0 ? reached.steps : view.steps,
      started_at: view.started_at ?? reached.started_at,
    },
    entries: entries.flatMap((entry) => raiseEntry(entry, raise)),
  };
}

function isEarlier(state: unknown, later: ActiveState): boolean {
  const position = ACTIVE_STATES.indexOf(state as ActiveState);
  return position !== -1 && position < ACTIVE_STATES.indexOf(later);
}

/** Leaves out changes to a state that the run has reached before. */
function raiseEntry(entry: FeedEntry, raise: (state: unknown) => unknown): FeedEntry[] {
  if (entry.type !== 'state.changed') return [entry];
  const [from, to] = [raise(entry.data['from']), raise(entry.data['to'])];
  return from === to ? [] : [{ ...entry, data: { ...entry.data, from, to } }];
}
