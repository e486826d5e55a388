import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import type { CallbackTrigger } from '../src/domain/tasks/callback.ts';
import { shownStateOf, type ShownState, type TaskState } from '../src/domain/tasks/task-states.ts';

/** A step as `watch` shows it. `percent` is its last reported progress. */
export type StepPicture = {
  id: string;
  name: string;
  agent: string;
  status: 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'stopped';
  attempt: number;
  percent: number | null;
  startedAt: string | null;
  durationMs: number | null;
  text: string | null;
};

/** Everything that `watch` shows of a run, derived from its events. */
export type RunPicture = {
  state: ShownState;
  steps: readonly StepPicture[];
  /** Sentences below the steps: callback attempts, errors, a reason to escalate. */
  notes: readonly string[];
  startedAt: string | null;
  durationMs: number | null;
};

export const emptyPicture: RunPicture = {
  state: 'initializing',
  steps: [],
  notes: [],
  startedAt: null,
  durationMs: null,
};

/** Returns the picture after one more event. */
export function withEvent(picture: RunPicture, event: FeedEvent): RunPicture {
  const data = event.data as EventData;
  switch (event.type) {
    case 'state.changed':
      return {
        ...picture,
        state: data.to ? shownStateOf({ state: data.to, question: data.question }) : picture.state,
        startedAt: picture.startedAt ?? event.at,
        steps: data.steps?.map(plannedStep) ?? picture.steps,
      };
    case 'step.started':
      return withStep(picture, event, { status: 'running', percent: null, startedAt: event.at, text: null });
    case 'step.progress':
      return withStep(picture, event, { percent: data.percent ?? null });
    case 'step.completed':
      return withStep(picture, event, {
        status: 'completed',
        percent: null,
        durationMs: data.duration_ms ?? null,
        text: data.summary ?? null,
      });
    case 'step.failed':
      return withStep(picture, event, {
        status: typeof data.retry_in_ms === 'number' ? 'retrying' : 'failed',
        percent: null,
        text: data.error?.message ?? null,
      });
    case 'agent.message':
      return withStep(picture, event, { text: data.text ?? null });
    case 'escalation.requested':
      return withNote(withStep(picture, event, { status: 'failed', percent: null }), noteOf(event));
    case 'callback.attempted':
      return withNote(picture, noteOf(event));
    case 'run.ended':
      return {
        ...picture,
        state: data.state ?? picture.state,
        durationMs: data.duration_ms ?? null,
        steps: picture.steps.map((step) =>
          isOpen(step) ? { ...step, status: 'stopped', percent: null } : step,
        ),
      };
  }
}

/** The data of events that is shown. Each field may be missing. */
type EventData = {
  from?: TaskState;
  to?: TaskState;
  by?: string;
  reason?: string;
  question?: { text: string };
  state?: TaskState;
  steps?: { id: string; name: string; agent: string; kept?: true }[];
  step?: { id: string; name: string; agent: string; attempt: number };
  percent?: number;
  summary?: string;
  text?: string;
  duration_ms?: number;
  retry_in_ms?: number | null;
  error?: { message?: string };
  attempt?: number;
  trigger?: CallbackTrigger;
  outcome?: string;
  response_status?: number | null;
  message?: string | null;
  next_attempt_at?: string | null;
};

/** Returns an event as text, without its time; null for an event that is not shown. */
export function noteOf(event: FeedEvent): string {
  const data = event.data as EventData;
  const step = data.step === undefined ? '' : `${data.step.name} (${data.step.agent})`;
  switch (event.type) {
    case 'state.changed':
      return [
        `state ${data.from} -> ${data.to}`,
        data.by && `by ${data.by}`,
        data.reason && `(${data.reason})`,
        data.question && `asks: ${data.question.text}`,
      ]
        .filter(Boolean)
        .join(' ');
    case 'step.started':
      return `step ${step} started${(data.step?.attempt ?? 1) > 1 ? `, attempt ${data.step?.attempt}` : ''}`;
    case 'step.progress':
      return `step ${step} ${data.percent === undefined ? 'progress' : `${data.percent} %`}${data.text ? `: ${data.text}` : ''}`;
    case 'step.completed':
      return `step ${step} completed in ${data.duration_ms ?? 0} ms: ${data.summary ?? ''}`;
    case 'step.failed':
      return `step ${step} failed: ${data.error?.message ?? ''}${retryNote(data.retry_in_ms)}`;
    case 'agent.message':
      return `${step} says: ${data.text ?? ''}`;
    case 'escalation.requested':
      return `${step || 'the run'} escalated: ${data.reason ?? ''}`;
    case 'callback.attempted':
      return callbackNote(data);
    case 'run.ended':
      return `run ended ${data.state} after ${data.duration_ms ?? 0} ms`;
  }
}

function retryNote(waitMs: number | null | undefined): string {
  return typeof waitMs === 'number' ? `; retry in ${waitMs} ms` : '';
}

function callbackNote(data: EventData): string {
  const { attempt, trigger, outcome, response_status, message, next_attempt_at } = data;
  const delivered = outcome === 'succeeded';
  const what = delivered ? `delivered (${response_status})` : `failed: ${message ?? response_status ?? ''}`;
  const next = delivered ? '' : next_attempt_at ? '; another attempt follows' : '; no more attempts';
  return `${trigger === 'manual' ? 'manual ' : ''}callback attempt ${attempt} ${what}${next}`;
}

function withStep(picture: RunPicture, event: FeedEvent, change: Partial<StepPicture>): RunPicture {
  const eventStep = (event.data as EventData).step;
  if (eventStep === undefined) return picture;
  const known = picture.steps.some((step) => step.id === eventStep.id);
  const steps = known ? picture.steps : [...picture.steps, plannedStep(eventStep)];
  return {
    ...picture,
    steps: steps.map((step) =>
      step.id === eventStep.id ? { ...step, attempt: eventStep.attempt, ...change } : step,
    ),
  };
}

function withNote(picture: RunPicture, note: string): RunPicture {
  return { ...picture, notes: [...picture.notes, note] };
}

function plannedStep({ id, name, agent, kept }: NonNullable<EventData['steps']>[number]): StepPicture {
  return {
    id,
    name,
    agent,
    status: kept ? 'completed' : 'pending',
    attempt: 0,
    percent: null,
    startedAt: null,
    durationMs: null,
    text: kept ? 'kept from the previous run' : null,
  };
}

function isOpen({ status }: StepPicture): boolean {
  return status === 'pending' || status === 'running' || status === 'retrying';
}
