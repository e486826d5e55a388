import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';

/** The part of a run that its events contain: its state, and the status and attempt of each step by name. */
export type VisibleState = {
  state: string;
  steps: Record<string, readonly [status: string, attempt: number]>;
};

type StepReference = { name: string; attempt: number };
type Detail = { state: string; steps: readonly { name: string; status: string; attempt: number }[] };

/** The state of a run before its first event. */
export const INITIAL_STATE: VisibleState = { state: 'initializing', steps: {} };

/** Returns the state of a snapshot or a detail. */
export function stateOfDetail(detail: unknown): VisibleState {
  const { state, steps } = detail as Detail;
  return { state, steps: Object.fromEntries(steps.map((step) => [step.name, [step.status, step.attempt]])) };
}

/** Returns the state after these events, from the state before them. */
export function stateAfter(before: VisibleState, events: readonly FeedEvent[]): VisibleState {
  return events.reduce(stateAfterOne, before);
}

function stateAfterOne(state: VisibleState, { type, data }: FeedEvent): VisibleState {
  const step = data['step'] as StepReference | undefined;
  const withStep = (status: string): VisibleState =>
    step ? { ...state, steps: { ...state.steps, [step.name]: [status, step.attempt] } } : state;
  switch (type) {
    case 'state.changed':
      return { state: String(data['to']), steps: plannedSteps(data) ?? state.steps };
    case 'step.started':
      return withStep('running');
    case 'step.completed':
      return withStep('completed');
    case 'step.failed':
      return data['retry_in_ms'] === null ? withStep('failed') : state;
    case 'escalation.requested':
      return withStep('failed');
    case 'run.ended':
      return { state: String(data['state']), steps: closedSteps(state.steps) };
    case 'step.progress':
    case 'agent.message':
    case 'callback.attempted':
      return state;
  }
}

function plannedSteps(data: FeedEvent['data']): VisibleState['steps'] | null {
  const planned = data['steps'] as { name: string }[] | undefined;
  return planned ? Object.fromEntries(planned.map(({ name }) => [name, ['pending', 0]])) : null;
}

/** Returns the steps after the end of the run: running ones are cancelled, pending ones are skipped. */
function closedSteps(steps: VisibleState['steps']): VisibleState['steps'] {
  return Object.fromEntries(
    Object.entries(steps).map(([name, [status, attempt]]) => {
      const closed = status === 'running' ? 'cancelled' : status === 'pending' ? 'skipped' : status;
      return [name, [closed, attempt]];
    }),
  );
}
