import type { ArtifactInfo, RunArtifact } from './artifact.ts';
import type { FeedEntry, FeedEventType } from './feed-events.ts';
import { storableCopy } from '../common/text.ts';
import { backendOf, type BackendName, type Plan, type PlannedStep } from './plan.ts';
import type { StoredPlan } from './rerun.ts';
import type { RunError, RunView, Step, Usage } from './run-schemas.ts';
import { addUsage, initialView, progressOf } from './task-run.ts';
import {
  isTerminal,
  nextState,
  type RunErrorCode,
  type TerminalState,
  type TransitionTrigger,
} from './task-states.ts';

/** A request to pause, continue or cancel a run. `by` is for example `key:bt_k3f9` or `user:ada@example.com`. */
export type ControlRequest = { by: string; reason?: string | undefined };

/**
 * A request to continue a run. `question` is the id of the question that it answers, null if its sender has seen no
 * open question. Absent in requests from Temporal's own tools, which answer any question.
 */
export type ContinueRequest = ControlRequest & { question?: string | null };

/** A person's answer to an agent's question, given by continuing the run. */
export type Answer = { by: string; reason: string | null };

/** The result of a completed step. `text`: the result as the output of the run shows it. */
export type StepResult = {
  summary: string;
  usage: Usage | null;
  message: string | null;
  text?: string | null;
};

/** The parts of the state of a run that are not in its view or its plan. */
export type RunMemory = {
  changes: number;
  /** Texts of results, by step id. */
  results: [string, string][];
  artifacts: RunArtifact[];
  enginePauses: string[];
  /** See {@link RunState.begin}. Absent in runs without such pauses. */
  pausedBeforeStartMs?: number;
  questions: { number: number; stepId: string; text: string }[];
  asked: number;
};

/** The state of a run with all changes recorded. `plan` is null before the run has one. */
export type RecordedRun = { view: RunView; plan: Plan | null; memory: RunMemory };

/** Pauses made in the Web UI that a run remembers, to recognise a repeated signal. */
const REMEMBERED_ENGINE_PAUSES = 100;

/** Maximum of unrecorded events. After an outage, a worker may receive thousands of requests to pause and continue. */
const MAX_UNRECORDED_EVENTS = 20;

const TRIGGER_OF_END: Readonly<Record<TerminalState, TransitionTrigger>> = {
  completed: 'all_work_done',
  failed: 'unrecoverable',
  escalated: 'human_requested',
  cancelled: 'cancelled',
};

/**
 * The state of one run and its unrecorded events. Contains every rule about which change may follow which. It does no
 * I/O and reads no clock: each method gets the time in milliseconds since 1970. A method whose change is not allowed,
 * or was made before, adds no events.
 */
export class RunState {
  #view: Omit<RunView, 'last_seq'>;
  #entries: FeedEntry[] = [];
  /** Number of state changes. Part of the keys of `state.changed`. */
  #changes = 0;
  #backend: BackendName | null = null;
  #unrecordedPlan: StoredPlan | null = null;
  /** By step id: its backend, and the text of its result. */
  readonly #backends = new Map<string, BackendName>();
  readonly #results = new Map<string, string>();
  /** By name. */
  readonly #artifacts = new Map<string, RunArtifact>();
  readonly #enginePauses = new Set<string>();
  /** Unanswered questions in the order they were asked. The first one may be shown already. */
  #questions: { number: number; stepId: string; text: string }[] = [];
  #asked = 0;
  #isWithdrawn = false;
  #pausedBeforeStartMs = 0;
  readonly #createdAt: number;

  /** Creates the state of a new run, or continues from what was `recorded`. */
  constructor(createdAt: number, recorded: RecordedRun | null = null) {
    const { last_seq: _, ...view } = recorded ? storableCopy(recorded.view) : initialView();
    this.#view = view;
    this.#createdAt = createdAt;
    if (recorded === null) return;
    const { plan, memory } = recorded;
    if (plan) this.#rememberBackends(plan);
    this.#changes = memory.changes;
    this.#asked = memory.asked;
    this.#pausedBeforeStartMs = memory.pausedBeforeStartMs ?? 0;
    this.#questions = [...memory.questions];
    for (const [id, text] of memory.results) this.#results.set(id, text);
    for (const artifact of memory.artifacts) this.#artifacts.set(artifact.name, artifact);
    for (const pausedAt of memory.enginePauses) this.#enginePauses.add(pausedAt);
  }

  /** Whether events wait for {@link takeChange}. */
  get hasUnrecorded(): boolean {
    return this.#entries.length > 0;
  }

  /** Returns what another object needs to continue from here, in addition to the recorded view and the plan. */
  memory(): RunMemory {
    return {
      changes: this.#changes,
      results: [...this.#results],
      artifacts: [...this.#artifacts.values()],
      enginePauses: [...this.#enginePauses].slice(-REMEMBERED_ENGINE_PAUSES),
      ...(this.#pausedBeforeStartMs > 0 ? { pausedBeforeStartMs: this.#pausedBeforeStartMs } : {}),
      questions: [...this.#questions],
      asked: this.#asked,
    };
  }

  get isPaused(): boolean {
    return this.#view.state === 'paused';
  }

  /** The milliseconds of all pauses that are over. */
  get pausedMs(): number {
    return this.#view.paused_ms;
  }

  get hasEnded(): boolean {
    return isTerminal(this.#view.state);
  }

  /**
   * Returns the events since the last call and the view they lead to; null if there are none. If more than {@link
   * MAX_UNRECORDED_EVENTS} wait, pauses that have already been continued are omitted.
   */
  takeChange(): { view: Omit<RunView, 'last_seq'>; entries: FeedEntry[]; plan?: StoredPlan } | null {
    if (this.#entries.length === 0) return null;
    const entries = withoutEmptyPauses(this.#entries, MAX_UNRECORDED_EVENTS);
    const plan = this.#unrecordedPlan;
    this.#entries = [];
    this.#unrecordedPlan = null;
    this.#view.progress = progressOf(this.#view.steps);
    // Agents may send any text. The events and what queries return must not differ from what is stored.
    return storableCopy({ view: this.#view, entries, ...(plan ? { plan } : {}) });
  }

  /** Returns the milliseconds since the run started, without the paused time since then. */
  activeMs(now: number): number {
    const started = this.#view.started_at;
    if (started === null) return 0;
    const pausedNow = this.#view.paused_at === null ? 0 : now - Date.parse(this.#view.paused_at);
    const pausedBefore = this.#view.paused_ms - this.#pausedBeforeStartMs;
    return now - Date.parse(started) - pausedBefore - pausedNow;
  }

  /** Starts the run: `initializing` → `planning`. `pausedBeforeMs`: the milliseconds of pauses before `now`. */
  begin(now: number, pausedBeforeMs = 0): void {
    if (!this.#transition('runner_started', now, {})) return;
    this.#view.started_at = iso(Math.max(now, this.#createdAt));
    this.#pausedBeforeStartMs = pausedBeforeMs;
  }

  /** Sets the plan: `planning` → `executing`, with its steps, including kept ones. */
  agentsChosen(plan: StoredPlan, now: number): void {
    this.#rememberBackends(plan);
    this.#unrecordedPlan = plan;
    for (const { id, text } of plan.left?.results ?? []) this.#results.set(id, text);
    for (const artifact of plan.left?.artifacts ?? []) this.#artifacts.set(artifact.name, artifact);
    const keptOf = (planned: PlannedStep) => plan.kept?.find(({ id }) => id === planned.id);
    this.#view.steps = plan.steps.map((planned) => keptOf(planned) ?? pendingStep(planned));
    const steps = plan.steps.map((planned) => {
      const { id, name, agent, after } = planned;
      return { id, name, agent, after, ...(keptOf(planned) ? { kept: true } : {}) };
    });
    const answer = plan.answered ? { answer: plan.answered } : {};
    this.#transition('agents_chosen', now, { backend: plan.backend, steps, ...answer });
  }

  pause(request: ControlRequest, now: number): void {
    if (this.#transition('paused', now, request)) {
      this.#view.paused_at = iso(now);
      this.#view.paused_by = request.by;
    }
  }

  /**
   * Continues a paused run, unless another question than the named one is open. If an agent's question paused the run,
   * returns the answer with the number of the question. The next question, if any, pauses the run again.
   */
  continue(
    { question, ...request }: ContinueRequest,
    now: number,
  ): { number: number; answer: Answer } | null {
    if (question !== undefined && question !== openQuestionOf(this.#view)) return null;
    if (!this.#transition('continued', now, request)) return null;
    this.#closePause(now);
    const answered = this.#view.question ? this.#questions.shift() : undefined;
    this.#view.question = null;
    this.#showQuestion(now);
    return answered
      ? { number: answered.number, answer: { by: request.by, reason: request.reason ?? null } }
      : null;
  }

  /**
   * Asks a person a question of the agent of a step. The run is paused until somebody continues it: immediately, or as
   * soon as the current pause is over. Returns the number of the question; null if the run has ended, or needs no answers.
   */
  ask(stepId: string, text: string, now: number): number | null {
    if (this.hasEnded || this.#isWithdrawn) return null;
    this.#asked += 1;
    this.#questions.push({ number: this.#asked, stepId, text });
    this.#showQuestion(now);
    return this.#asked;
  }

  /** Withdraws all questions, since nothing waits for their answers any more. Continues a run that was paused for one. */
  withdrawQuestions(now: number): void {
    this.#isWithdrawn = true;
    this.#questions = [];
    const { question } = this.#view;
    if (!question) return;
    const reason = 'The question is withdrawn: another step has ended the run.';
    this.#transition('continued', now, { by: `agent:${question.agent}`, reason });
    this.#closePause(now);
    this.#view.question = null;
  }

  /** Returns whether a question with this id has not been asked yet. */
  isUnasked(question: string): boolean {
    return Number(question) > this.#asked;
  }

  /** The id of the open question; null if none is open. */
  get openQuestion(): string | null {
    return openQuestionOf(this.#view);
  }

  /**
   * Ends a pause that Temporal held from `pausedAt` (ISO). The projection has shown `paused` since then, so the change
   * back is an event, unless the run is still paused by a request.
   */
  enginePauseEnded(pausedAt: string, by: string, now: number): void {
    if (this.hasEnded || this.#enginePauses.has(pausedAt)) return;
    this.#enginePauses.add(pausedAt);
    if (this.isPaused) return;
    this.#view.paused_ms += Math.max(0, now - Date.parse(pausedAt));
    const data = { from: 'paused', to: this.#view.state, by };
    this.#emit(`engine-pause-over:${pausedAt}`, 'state.changed', now, data);
  }

  stepStarted(stepId: string, attempt: number, now: number): void {
    const step = this.#step(stepId);
    step.status = 'running';
    step.attempt = attempt;
    step.started_at ??= iso(now);
    step.error = null;
    this.#emitStepEvent(step, 'step.started', now, {});
  }

  stepCompleted(stepId: string, result: StepResult, now: number): void {
    const step = this.#step(stepId);
    this.#closeStep(step, 'completed', now);
    step.summary = result.summary;
    step.usage = addUsage(step.usage, result.usage);
    if (result.text) this.#results.set(stepId, result.text);
    if (result.message !== null) this.#emitStepEvent(step, 'agent.message', now, { text: result.message });
    const { summary, usage, duration_ms } = step;
    this.#emitStepEvent(step, 'step.completed', now, { summary, usage, duration_ms });
  }

  /** Adds the documents of an attempt. A document replaces an earlier one of the same name. */
  artifactsSaved(stepId: string, saved: readonly ArtifactInfo[]): void {
    const { name: step, agent } = this.#step(stepId);
    for (const note of saved) this.#artifacts.set(note.name, { ...note, step, agent });
  }

  /** Adds the usage of an attempt to the usage of its step. */
  stepUsed(stepId: string, usage: Usage): void {
    const step = this.#step(stepId);
    step.usage = addUsage(step.usage, usage);
  }

  /** Records a failed attempt. `retryInMs` is the wait before the next one; null if there is none. */
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
    this.#emitStepEvent(step, 'step.failed', now, { error: step.error, retry_in_ms: retryInMs });
    if (retryInMs === null) this.#view.errors.push(step.error);
  }

  /** Records that an agent escalated: the step counts as failed, and the run will end `escalated`. */
  stepEscalated(stepId: string, reason: string, now: number): void {
    const step = this.#step(stepId);
    this.#closeStep(step, 'failed', now);
    this.#view.escalation = { reason, step: step.name, agent: step.agent, at: iso(now) };
    this.#emitStepEvent(step, 'escalation.requested', now, { reason });
  }

  /** Adds an error that belongs to no step (planning, a time limit). */
  addError(code: RunErrorCode, message: string, now: number): void {
    this.#view.errors.push(this.#error(code, message, null, now));
  }

  /**
   * Ends the run. Running steps become `cancelled`, pending ones `skipped`. The output contains the completed work,
   * even if the run was not completed.
   */
  end(state: TerminalState, request: ControlRequest | null, now: number): void {
    if (!this.#transition(TRIGGER_OF_END[state], now, request ?? {})) return;
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
    this.#emit('run.ended', 'run.ended', now, { state, duration_ms, errors, escalation });
  }

  #rememberBackends(plan: Plan): void {
    this.#backend = plan.backend;
    for (const planned of plan.steps) this.#backends.set(planned.id, backendOf(plan, planned));
  }

  /**
   * Returns the output of the run. It names the backends, so that nobody mistakes a simulation for the work of a model.
   */
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

  #transition(trigger: TransitionTrigger, now: number, data: Record<string, unknown>): boolean {
    const from = this.#view.state;
    const to = nextState(from, trigger, this.#view.paused_from);
    if (to === null) return false;
    this.#view.state = to;
    this.#view.paused_from = to === 'paused' && from !== 'paused' && !isTerminal(from) ? from : null;
    this.#changes += 1;
    // Work that is repeated after a crash may receive a signal that the first try did not. The number and the two
    // states together distinguish a repeat from a new change, and a pause for a question from one by request.
    const asks = 'question' in data ? ':question' : '';
    this.#emit(`state:${this.#changes}:${from}>${to}${asks}`, 'state.changed', now, { from, to, ...data });
    return true;
  }

  #showQuestion(now: number): void {
    const [next] = this.#questions;
    if (next === undefined || this.isPaused) return;
    const { name, agent } = this.#step(next.stepId);
    const question = { id: String(next.number), step: name, agent, text: next.text, at: iso(now) };
    if (!this.#transition('paused', now, { by: `agent:${agent}`, question })) return;
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

  #emitStepEvent(step: Step, type: FeedEventType, now: number, data: Record<string, unknown>): void {
    const { id, name, agent, attempt } = step;
    this.#emit(`${type}:${id}:${attempt}`, type, now, { step: { id, name, agent, attempt }, ...data });
  }

  #emit(key: string, type: FeedEventType, now: number, data: Record<string, unknown>): void {
    this.#entries.push({ key, type, at: iso(now), data });
  }
}

/** The id of the first question of a run. */
export const FIRST_QUESTION = '1';

/** Returns the id of the open question of a run, or null. Questions of earlier versions have none. */
export function openQuestionOf({ question }: { question?: RunView['question'] | undefined }): string | null {
  return question ? (question.id ?? FIRST_QUESTION) : null;
}

/** Removes empty pauses with their ends, the oldest first, while there are more than `most` events. */
function withoutEmptyPauses(entries: readonly FeedEntry[], most: number): FeedEntry[] {
  let excess = entries.length - most;
  const kept: FeedEntry[] = [];
  for (const entry of entries) {
    const before = kept.at(-1);
    if (excess > 0 && before && isEmptyPause(before, entry)) {
      kept.pop();
      excess -= 2;
    } else {
      kept.push(entry);
    }
  }
  return kept;
}

/** Returns true if `end` ends the pause by request that began with `pause`, the event before it: nothing happened between. */
function isEmptyPause(pause: FeedEntry, end: FeedEntry): boolean {
  const { from, to, question } = pause.data;
  return to === 'paused' && question === undefined && end.data['to'] === from;
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
