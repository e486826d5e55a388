import {
  ActivityFailure,
  isCancellation,
  patched,
  proxyActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  RemoteAgentActivities,
  RemoteAgentInput,
  RemoteOutcome,
} from '../../activities/agents/remote-agents.ts';
import type { StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { addUsage } from '../../domain/tasks/task-run.ts';
import { siblingQueues } from '../../temporal/task-messages.ts';
import { until } from '../until.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/** Time for the activity to report a timeout itself before Temporal does, in milliseconds. */
const GRACE_MS = 30_000;

// Missing heartbeats reveal a crashed worker, and another worker continues the work. Failures of the agent itself are
// results, and the run's own policy decides.
const { askRemoteAgent, runCommand } = proxyActivities<RemoteAgentActivities>({
  heartbeatTimeout: '5 s',
  startToCloseTimeout: '24 h',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

// Whether the agent stops its task is up to it. If it does not respond, the run ends without it.
const { cancelRemoteTask } = proxyActivities<RemoteAgentActivities>({
  scheduleToCloseTimeout: '30 s',
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** A question of a remote agent, with what the work has used until then. */
type AskedTurn = { turn: number; spentMs: number; usage: Usage | null; text: string; task: Answered['task'] };
type Answered = NonNullable<RemoteAgentInput['answer']>;

/** Runs the step by an agent that speaks A2A. Its questions are asked to a person while the run is paused. */
export const a2aBackend: StepBackend = {
  async work(work, dependencies) {
    let asked = dependencies.notes as AskedTurn | null;
    let answer: Answered | null = null;
    for (;;) {
      if (asked === null || answer) {
        const outcome = await takeTurn(work, dependencies, asked, answer);
        if ('kind' in outcome) return outcome;
        asked = outcome;
      }
      answer = { task: asked.task, text: await answerTo(asked, work, dependencies) };
    }
  },
};

/**
 * Returns a person's answer to a question.
 * @throws CancelledFailure if the run has ended before somebody answers; then the remote task is cancelled
 */
async function answerTo(asked: AskedTurn, { step }: StepWork, dependencies: Dependencies): Promise<string> {
  try {
    const { by, reason } = await dependencies.ask(asked.text, asked);
    await until(() => !dependencies.isPaused());
    return reason ?? `${by} continued the run without an answer.`;
  } catch (error) {
    if (isCancellation(error) && patched('cancels-remote-tasks')) {
      const options = { summary: `${step.name} · ${step.agent}`, taskQueue: agentsQueue() };
      const given = { agent: step.agent, task: asked.task };
      await dependencies.afterwards(() => cancelRemoteTask.executeWithOptions(options, [given]));
    }
    throw error;
  }
}

async function takeTurn(
  work: StepWork,
  dependencies: Dependencies,
  before: AskedTurn | null,
  answer: Answered | null,
): Promise<StepOutcome | AskedTurn> {
  const began = Date.now();
  const turn = (before?.turn ?? 0) + 1;
  const spentMs = before?.spentMs ?? 0;
  const timeLimitMs = Math.max(1, work.step.time_limit_ms - spentMs);
  const input = { work: dependencies.agentWork(), turn, timeLimitMs, ...(answer ? { answer } : {}) };
  const outcome = await runActivity(askRemoteAgent, work, input);
  const usage = addUsage(before?.usage ?? null, outcome.usage ?? null);
  if (outcome.kind !== 'asks') return { ...outcome, usage };
  const { text, task } = outcome;
  return { turn, spentMs: spentMs + Date.now() - began, usage, text, task };
}

/** Runs the step by a program. */
export const commandBackend: StepBackend = {
  async work(work, dependencies: Dependencies) {
    const asked = { work: dependencies.agentWork(), turn: 1, timeLimitMs: work.step.time_limit_ms };
    const outcome = await runActivity(runCommand, work, asked);
    return outcome.kind === 'asks' ? { kind: 'escalated', reason: outcome.text } : outcome;
  },
};

function agentsQueue(): string {
  return siblingQueues(workflowInfo().taskQueue).agents;
}

async function runActivity(
  activity: typeof runCommand,
  { step }: StepWork,
  asked: RemoteAgentInput,
): Promise<RemoteOutcome | StepOutcome> {
  const options = {
    summary: `${step.name} · ${step.agent}`,
    taskQueue: agentsQueue(),
    scheduleToCloseTimeout: asked.timeLimitMs + GRACE_MS,
  };
  try {
    return await activity.executeWithOptions(options, [asked]);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      return { kind: 'failed', timedOut: true, message: `took longer than ${step.time_limit_ms} ms` };
    }
    return { kind: 'failed', message: error.cause?.message ?? 'the work was interrupted' };
  }
}
