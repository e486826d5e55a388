import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { StepActivities } from '../../activities/agents/steps.ts';
import type { ToolActivities } from '../../domain/agents/agent-work.ts';
import { ownTool } from '../../domain/agents/own-tools.ts';
import type { AgentWork, StepOutcome } from '../../domain/tasks/step-work.ts';
import type { AgentStepInput } from '../../temporal/agent-messages.ts';
import { answerCalls } from './answer-calls.ts';
import { Approvals } from './approvals.ts';
import { askModel } from './ask-model.ts';
import { WorkTimer } from './work-timer.ts';
import { StepAttempt, type Carried } from './step-attempt.ts';

const { openStep, leaveResult } = proxyActivities<StepActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** Size of a history, in bytes, above which the work continues as a new execution. */
const HISTORY_BYTES = 8 * 1_048_576;

/**
 * Runs one attempt of a step by an agent with a model: asks the model, makes the calls it requests, and repeats until
 * the model answers without a call. Started by the run as a child. Returns how the work ended, and throws only if it is
 * cancelled.
 */
export async function agentStep({ work, carried }: AgentStepInput<Carried>): Promise<StepOutcome> {
  const timer = new WorkTimer(work.executionId, carried?.pace ?? null);
  const limitMs = work.step.time_limit_ms;
  const approvals = new Approvals();
  const attempt = carried ? new StepAttempt(work, approvals, carried) : await open(work, approvals);
  if ('error' in attempt) return { kind: 'unrecoverable', message: attempt.error };
  const outcome = await timer.runWithin(limitMs, () => workOn(attempt, timer));
  if (outcome !== 'late') return { ...outcome, ...attempt.totals() };
  const message = `took longer than ${limitMs} ms`;
  if (attempt.opened.brief.limits.on_limit === 'escalate') {
    return {
      kind: 'escalated',
      reason: `${work.step.agent} ${message} for ${work.step.name}`,
      ...attempt.totals(),
    };
  }
  return { kind: 'failed', timedOut: true, message, ...attempt.totals() };
}

/** Reads the brief and the tools of the agent. */
async function open(work: AgentWork, approvals: Approvals): Promise<StepAttempt | { error: string }> {
  const opened = await openStep(work);
  if ('error' in opened) return opened;
  const { prompt, ...brief } = opened.brief;
  const tools = [...brief.ownTools.map(ownTool), ...(brief.hasServers ? await serverTools(work) : [])];
  return new StepAttempt(work, approvals, {
    opened: { brief, tools },
    messages: [{ role: 'user', content: prompt }],
  });
}

async function serverTools({ step }: AgentWork) {
  const { listTools } = proxyActivities<ToolActivities>({
    summary: `${step.name} · ${step.agent} · tools`,
    heartbeatTimeout: '5 s',
    startToCloseTimeout: '2 min',
    retry: { initialInterval: '500 ms', maximumInterval: '10 s', maximumAttempts: 5 },
  });
  return await listTools({ agent: step.agent });
}

async function workOn(attempt: StepAttempt, timer: WorkTimer): Promise<StepOutcome> {
  for (;;) {
    await timer.unpaused();
    const limit = attempt.limitReached();
    if (limit !== null) return atLimit(attempt, limit);
    await continueIfHistoryIsLong(attempt, timer);
    const turn = await askModel(attempt);
    if (turn.kind === 'broken') return turn.outcome;
    if (turn.kind === 'answered') return await finish(attempt, turn.text);
    await timer.unpaused();
    const answers = await answerCalls(attempt, turn.calls, timer);
    if ('escalated' in answers) return { kind: 'escalated', reason: answers.escalated };
    attempt.conversation.add([answers.message]);
  }
}

/** Continues as a new execution with the whole conversation before the history grows large. */
async function continueIfHistoryIsLong(attempt: StepAttempt, timer: WorkTimer): Promise<void> {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  const isLong = historyLength > attempt.opened.brief.historyEvents || historySize > HISTORY_BYTES;
  if (!isLong && !continueAsNewSuggested) return;
  const carried: Carried = { ...attempt.carried(), pace: timer.carried() };
  await continueAsNew<typeof agentStep>({ work: attempt.work, carried });
}

async function finish({ work }: StepAttempt, text: string): Promise<StepOutcome> {
  const kept = await leaveResult(work, text);
  return { kind: 'completed', result: { ...kept, usage: null, message: null } };
}

function atLimit({ work: { step }, opened }: StepAttempt, limit: string): StepOutcome {
  const words = `${step.agent} reached its limit of ${limit} before ${step.name} was done`;
  return opened.brief.limits.on_limit === 'escalate'
    ? { kind: 'escalated', reason: words }
    : { kind: 'unrecoverable', message: words };
}
