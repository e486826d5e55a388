import {
  ActivityFailure,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  RemoteAgentActivities,
  RemoteAsked,
  RemoteOutcome,
} from '../../activities/agents/remote-agents.ts';
import type { StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import { addUsage, type Usage } from '../../domain/tasks/task-run.ts';
import { queuesBeside } from '../../temporal/task-messages.ts';
import { until } from '../until.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/** How long the activity has to say by itself that the time was up, in milliseconds. */
const GRACE_MS = 30_000;

// A worker that died is noticed by its missing heartbeats; the work is then taken up elsewhere. All that the agent
// itself does wrong is an answer, and the run's own policy decides.
const { askRemoteAgent, runCommand } = proxyActivities<RemoteAgentActivities>({
  heartbeatTimeout: '5 s',
  startToCloseTimeout: '24 h',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** Lets an agent that speaks A2A do the work; what it wants to know is asked of a person, the run paused meanwhile. */
export const a2aBackend: StepBackend = {
  async work(work, around) {
    let spentMs = 0;
    let answer: RemoteAsked['answer'];
    let usage: Usage | null = null;
    for (let turn = 1; ; turn += 1) {
      const began = Date.now();
      const timeLimitMs = Math.max(1, work.step.time_limit_ms - spentMs);
      const asked = { work: around.agentWork(), turn, timeLimitMs, ...(answer ? { answer } : {}) };
      const outcome = await oneActivity(askRemoteAgent, work, asked);
      usage = addUsage(usage, outcome.usage ?? null);
      if (outcome.kind !== 'asks') return { ...outcome, usage };
      spentMs += Date.now() - began;
      const { by, reason } = await around.ask(outcome.text);
      await until(() => !around.isPaused());
      answer = { task: outcome.task, text: reason ?? `${by} says: go on.` };
    }
  },
};

/** Lets a program do the work. */
export const commandBackend: StepBackend = {
  async work(work, around: Dependencies) {
    const asked = { work: around.agentWork(), turn: 1, timeLimitMs: work.step.time_limit_ms };
    const outcome = await oneActivity(runCommand, work, asked);
    return outcome.kind === 'asks' ? { kind: 'escalated', reason: outcome.text } : outcome;
  },
};

async function oneActivity(
  activity: typeof runCommand,
  { step }: StepWork,
  asked: RemoteAsked,
): Promise<RemoteOutcome | StepOutcome> {
  const options = {
    summary: `${step.name} · ${step.agent}`,
    taskQueue: queuesBeside(workflowInfo().taskQueue).agents,
    scheduleToCloseTimeout: asked.timeLimitMs + GRACE_MS,
  };
  try {
    return await activity.executeWithOptions(options, [asked]);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      return { kind: 'failed', timedOut: true, message: `took longer than ${step.time_limit_ms} ms` };
    }
    return { kind: 'failed', message: error.cause?.message ?? 'the work broke off' };
  }
}
