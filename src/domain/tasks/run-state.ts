import type { ArtifactNote, RunArtifact } from './artifact.ts';
import type { FeedEntry, FeedEventType } from './feed-events.ts';
import { backendOf, type BackendName, type PlannedStep } from './plan.ts';
import type { StoredPlan } from './rerun.ts';
import {
  addUsage,
  initialView,
  progressOf,
  type RunError,
  type RunView,
  type Step,
  type Usage,
} from './task-run.ts';
import {
  isTerminal,
  nextState,
  type RunErrorCode,
  type TerminalState,
  type TransitionTrigger,
} from './task-states.ts';

/** Who wished for something, for example `key:bt_k3f9` or `user:ada@example.com`. */
export type Wish = { by: string; reason?: string | undefined };

/** What a person answered to an agent's question by continuing the run. */
export type Answer = { by: string; reason: string | null };

/** What a step left behind when it was done. `text`: its result, as the run's output shows it. */
export type StepResult = {
  summary: string;
  usage: Usage | null;
  message: string | null;
  text?: string | null;
};

const TRIGGER_OF_END: Readonly<Record<TerminalState, TransitionTrigger>> = {
  completed: 'all_work_done',
  failed: 'unrecoverable',
  escalated: 'human_requested',
  cancelled: 'cancelled',
};

/**
 * The state of one run and the news it makes. It owns every rule of what may follow what; it does no I/O and
 * reads no clock: each method is told the time in milliseconds since 1970. A method that changes nothing, since
 * the change is not allowed or holds already, makes no news.
 */
export class RunState {
  #view: Omit<RunView, 'last_seq'>;
  #news: FeedEntry[] = [];
  /** How often the state has changed: makes the keys of `state.changed`. */
  #changes = 0;
  #backend: BackendName | null = null;
  #newPlan: StoredPlan | null = null;
  /** By step: what did its work, and the text of its result. */
  readonly #backends = new Map<string, BackendName>();
  readonly #results = new Map<string, string>();
  /** By name. */
  readonly #artifacts = new Map<string, RunArtifact>();
  readonly #enginePauses = new Set<string>();
  /** Questions that nobody has answered, in the order they were asked; the first may be the one that is shown. */
  #questions: { number: number; stepId: string; text: string }[] = [];
  #asked = 0;
  readonly #createdAt: number;

  constructor(createdAt: number) {
    const { last_seq: _, ...view } = initialView();
    this.#view = view;
    this.#createdAt = createdAt;
  }

  get isPaused(): boolean {
    return this.#view.state === 'paused';
  }

  get hasEnded(): boolean {
    return isTerminal(this.#view.state);
  }

  /** Takes the news made since the last call, with the view they lead to; null when there are none. */
  takeNews(): { view: Omit<RunView, 'last_seq'>; entries: FeedEntry[]; plan?: StoredPlan } | null {
    if (this.#news.length === 0) return null;
    const entries = this.#news;
    const plan = this.#newPlan;
    this.#news = [];
    this.#newPlan = null;
    this.#view.progress = progressOf(this.#view.steps);
    return { view: JSON.parse(JSON.stringify(this.#view)), entries, ...(plan ? { plan } : {}) };
  }

  /** Milliseconds since the runner started, without those spent paused. */
  activeMs(now: number): number {
    const started = this.#view.started_at;
    if (started === null) return 0;
    const pausedNow = this.#view.paused_at === null ? 0 : now - Date.parse(this.#view.paused_at);
    return now - Date.parse(started) - this.#view.paused_ms - pausedNow;
  }

  /** The runner started: `initializing` → `planning`. */
  begin(now: number): void {
    if (!this.#move('runner_started', now, {})) return;
    this.#view.started_at = iso(Math.max(now, this.#createdAt));
  }

  /** Agents were chosen: `planning` → `executing`, with the steps they will take, and those that are kept. */
  agentsChosen(plan: StoredPlan, now: number): void {
    this.#backend = plan.backend;
    this.#newPlan = plan;
    for (const planned of plan.steps) this.#backends.set(planned.id, backendOf(plan, planned));
    for (const { id, text } of plan.left?.results ?? []) this.#results.set(id, text);
    for (const artifact of plan.left?.artifacts ?? []) this.#artifacts.set(artifact.name, artifact);
    const keptOf = (planned: PlannedStep) => plan.kept?.find(({ id }) => id === planned.id);
    this.#view.steps = plan.steps.map((planned) => keptOf(planned) ?? pendingStep(planned));
    const steps = plan.steps.map((planned) => {
      const { id, name, agent, after } = planned;
      return { id, name, agent, after, ...(keptOf(planned) ? { kept: true } : {}) };
    });
    this.#move('agents_chosen', now, { backend: plan.backend, steps });
  }

  pause(wish: Wish, now: number): void {
    if (this.#move('paused', now, wish)) {
      this.#view.paused_at = iso(now);
      this.#view.paused_by = wish.by;
    }
  }

  /**
   * Continues a paused run. Where an agent's question had paused it, that is the answer to it, with the number of the
   * question; the next question, if there is one, pauses the run again.
   */
  continue(wish: Wish, now: number): { number: number; answer: Answer } | null {
    if (!this.#move('continued', now, wish)) return null;
    this.#closePause(now);
    const answered = this.#view.question ? this.#questions.shift() : undefined;
    this.#view.question = null;
    this.#showQuestion(now);
    return answered
      ? { number: answered.number, answer: { by: wish.by, reason: wish.reason ?? null } }
      : null;
  }

  /**
   * A step's agent asks a person: the run is paused by it until somebody continues it, at once or as soon as what
   * pauses it already is over. Answers the question's number; null where the run has ended.
   */
  ask(stepId: string, text: string, now: number): number | null {
    if (this.hasEnded) return null;
    this.#asked += 1;
    this.#questions.push({ number: this.#asked, stepId, text });
    this.#showQuestion(now);
    return this.#asked;
  }

  /**
   * A pause that the engine held from `pausedAt` (ISO) is over. The projection has shown `paused` meanwhile, so
   * the way back is news, unless a pause of our own holds still.
   */
  enginePauseEnded(pausedAt: string, by: string, now: number): void {
    if (this.hasEnded || this.#enginePauses.has(pausedAt)) return;
    this.#enginePauses.add(pausedAt);
    if (this.isPaused) return;
    this.#view.paused_ms += Math.max(0, now - Date.parse(pausedAt));
    const data = { from: 'paused', to: this.#view.state, by };
    this.#tell(`engine-pause-over:${pausedAt}`, 'state.changed', now, data);
  }

  stepStarted(stepId: string, attempt: number, now: number): void {
    const step = this.#step(stepId);
    step.status = 'running';
    step.attempt = attempt;
    step.started_at ??= iso(now);
    step.error = null;
    this.#tellOfStep(step, 'step.started', now, {});
  }

  stepCompleted(stepId: string, result: StepResult, now: number): void {
    const step = this.#step(stepId);
    this.#closeStep(step, 'completed', now);
    step.summary = result.summary;
    step.usage = addUsage(step.usage, result.usage);
    if (result.text) this.#results.set(stepId, result.text);
    if (result.message !== null) this.#tellOfStep(step, 'agent.message', now, { text: result.message });
    const { summary, usage, duration_ms } = step;
    this.#tellOfStep(step, 'step.completed', now, { summary, usage, duration_ms });
  }

  /** Notes what an attempt left behind; a document takes the place of an earlier one of the same name. */
  artifactsSaved(stepId: string, saved: readonly ArtifactNote[]): void {
    const { name: step, agent } = this.#step(stepId);
    for (const note of saved) this.#artifacts.set(note.name, { ...note, step, agent });
  }

  /** Adds what an attempt took to what its step has taken so far. */
  stepUsed(stepId: string, usage: Usage): void {
    const step = this.#step(stepId);
    step.usage = addUsage(step.usage, usage);
  }

  /** An attempt failed. `retryInMs` is the wait before the next one, null when there is none. */
  stepFailed(
    stepId: string,
    code: RunErrorCode,
    message: string,
    retryInMs: number | null,
    now: number,
  ): void {
    const step = this.#step(stepId);
    step.error = this.#error(code, message, step, now);
    if (retryInMs === null) this.#closeStep(step, 'failed', now);
    this.#tellOfStep(step, 'step.failed', now, { error: step.error, retry_in_ms: retryInMs });
    if (retryInMs === null) this.#view.errors.push(step.error);
  }

  /** An agent asked for a human: the step counts as failed, and the run will end `escalated`. */
  stepEscalated(stepId: string, reason: string, now: number): void {
    const step = this.#step(stepId);
    this.#closeStep(step, 'failed', now);
    this.#view.escalation = { reason, step: step.name, agent: step.agent, at: iso(now) };
    this.#tellOfStep(step, 'escalation.requested', now, { reason });
  }

  /** Adds an error that belongs to no step (planning, a time limit). */
  addError(code: RunErrorCode, message: string, now: number): void {
    this.#view.errors.push(this.#error(code, message, null, now));
  }

  /**
   * Ends the run. What runs becomes `cancelled`, what never ran `skipped`; the output tells what was done,
   * also of a run that was not completed.
   */
  end(state: TerminalState, wish: Wish | null, now: number): void {
    if (!this.#move(TRIGGER_OF_END[state], now, wish ?? {})) return;
    this.#closePause(now);
    this.#view.question = null;
    for (const step of this.#view.steps) {
      if (step.status === 'running') this.#closeStep(step, 'cancelled', now);
      if (step.status === 'pending') step.status = 'skipped';
    }
    this.#view.started_at ??= iso(this.#createdAt);
    const completedAt = Math.max(now, Date.parse(this.#view.started_at));
    this.#view.completed_at = iso(completedAt);
    this.#view.duration_ms = completedAt - Date.parse(this.#view.started_at);
    this.#view.output = this.#output();
    const { duration_ms, errors, escalation } = this.#view;
    this.#tell('run.ended', 'run.ended', now, { state, duration_ms, errors, escalation });
  }

  /** What a run leaves behind. The backends are named, so that nobody takes a rehearsal for a model's work. */
  #output(): Record<string, unknown> | null {
    if (this.#backend === null) return null;
    const { steps } = this.#view;
    const done = steps.filter((step) => step.status === 'completed');
    return {
      backend: this.#backend,
      summary: `${done.length} of ${steps.length} steps completed`,
      steps: done.map(({ id, name, agent, summary }) => {
        const result = this.#results.get(id);
        const backend = this.#backends.get(id);
        return { name, agent, backend, summary, ...(result === undefined ? {} : { result }) };
      }),
      artifacts: [...this.#artifacts.values()],
    };
  }

  #move(trigger: TransitionTrigger, now: number, data: Record<string, unknown>): boolean {
    const from = this.#view.state;
    const to = nextState(from, trigger, this.#view.paused_from);
    if (to === null) return false;
    this.#view.state = to;
    this.#view.paused_from = to === 'paused' && from !== 'paused' && !isTerminal(from) ? from : null;
    this.#changes += 1;
    // Work that is repeated after a crash may meet a signal that the first try did not: number and way together
    // tell a repeat from something new.
    this.#tell(`state:${this.#changes}:${from}>${to}`, 'state.changed', now, { from, to, ...data });
    return true;
  }

  #showQuestion(now: number): void {
    const [next] = this.#questions;
    if (next === undefined || this.isPaused) return;
    const { name, agent } = this.#step(next.stepId);
    const question = { step: name, agent, text: next.text, at: iso(now) };
    if (!this.#move('paused', now, { by: `agent:${agent}`, question })) return;
    this.#view.question = question;
    this.#view.paused_at = iso(now);
    this.#view.paused_by = `agent:${agent}`;
  }

  #closePause(now: number): void {
    const pausedAt = this.#view.paused_at;
    if (pausedAt === null) return;
    this.#view.paused_ms += Math.max(0, now - Date.parse(pausedAt));
    this.#view.paused_at = null;
    this.#view.paused_by = null;
  }

  #step(id: string): Step {
    const step = this.#view.steps.find((candidate) => candidate.id === id);
    if (!step) throw new RangeError(`the plan has no step ${id}`);
    return step;
  }

  #closeStep(step: Step, status: 'completed' | 'failed' | 'cancelled', now: number): void {
    step.status = status;
    step.completed_at = iso(now);
    step.duration_ms = step.started_at === null ? 0 : Math.max(0, now - Date.parse(step.started_at));
  }

  #error(code: RunErrorCode, message: string, step: Step | null, now: number): RunError {
    return { code, message, step: step?.name ?? null, agent: step?.agent ?? null, at: iso(now) };
  }

  #tellOfStep(step: Step, type: FeedEventType, now: number, data: Record<string, unknown>): void {
    const { id, name, agent, attempt } = step;
    this.#tell(`${type}:${id}:${attempt}`, type, now, { step: { id, name, agent, attempt }, ...data });
  }

  #tell(key: string, type: FeedEventType, now: number, data: Record<string, unknown>): void {
    this.#news.push({ key, type, at: iso(now), data });
  }
}

function pendingStep({ id, name, agent }: PlannedStep): Step {
  return {
    id,
    name,
    agent,
    status: 'pending',
    attempt: 0,
    started_at: null,
    completed_at: null,
    duration_ms: null,
    summary: null,
    usage: null,
    error: null,
  };
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
