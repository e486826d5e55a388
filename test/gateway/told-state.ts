import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';

/** As much of a run as its events tell: its state, and status and attempt of each step by its name. */
export type Told = { state: string; steps: Record<string, readonly [status: string, attempt: number]> };

type StepReference = { name: string; attempt: number };
type Detail = { state: string; steps: readonly { name: string; status: string; attempt: number }[] };

/** A run before its first event. */
export const UNTOLD: Told = { state: 'initializing', steps: {} };

/** The same of a snapshot, or of a detail. */
export function toldBy(detail: unknown): Told {
  const { state, steps } = detail as Detail;
  return { state, steps: Object.fromEntries(steps.map((step) => [step.name, [step.status, step.attempt]])) };
}

/** What a reader knows after these events, who knew `before`. */
export function afterAll(before: Told, events: readonly FeedEvent[]): Told {
  return events.reduce(afterOne, before);
}

function afterOne(told: Told, { type, data }: FeedEvent): Told {
  const step = data['step'] as StepReference | undefined;
  const withStep = (status: string): Told =>
    step ? { ...told, steps: { ...told.steps, [step.name]: [status, step.attempt] } } : told;
  switch (type) {
    case 'state.changed':
      return { state: String(data['to']), steps: plannedSteps(data) ?? told.steps };
    case 'step.started':
      return withStep('running');
    case 'step.completed':
      return withStep('completed');
    case 'step.failed':
      return data['retry_in_ms'] === null ? withStep('failed') : told;
    case 'escalation.requested':
      return withStep('failed');
    case 'run.ended':
      return { state: String(data['state']), steps: closedSteps(told.steps) };
    case 'step.progress':
    case 'agent.message':
    case 'callback.attempted':
      return told;
  }
}

function plannedSteps(data: FeedEvent['data']): Told['steps'] | null {
  const planned = data['steps'] as { name: string }[] | undefined;
  return planned ? Object.fromEntries(planned.map(({ name }) => [name, ['pending', 0]])) : null;
}

/** What ran is cancelled with its run, what never ran is skipped. */
function closedSteps(steps: Told['steps']): Told['steps'] {
  return Object.fromEntries(
    Object.entries(steps).map(([name, [status, attempt]]) => {
      const closed = status === 'running' ? 'cancelled' : status === 'pending' ? 'skipped' : status;
      return [name, [closed, attempt]];
    }),
  );
}
