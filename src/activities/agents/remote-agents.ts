import { ApplicationFailure, Context, heartbeat } from '@temporalio/activity';
import type { Agent } from '../../agents/agent-settings.ts';
import type { AgentListener, AgentEnd, RemoteTask } from '../../agents/agent-end.ts';
import { connectToRemote } from '../../agents/a2a-client.ts';
import { workByRemote } from '../../agents/a2a-work.ts';
import type { Catalogue } from '../../agents/catalogue.ts';
import { workByCommand } from '../../agents/command-agent.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import { environmentOf } from '../../agents/own-process.ts';
import { boundedResults, instructionsFor, promptFor, type EarlierResult } from '../../agents/prompt.ts';
import {
  secretsAmong,
  secretsIn,
  withoutSecrets,
  type Environment,
  type Secret,
} from '../../agents/secrets.ts';
import { recordCall } from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import { stepResults, taskTexts, type TaskTexts } from '../../database/tasks/step-results.ts';
import { CALL_RECORD_BYTES, MAX_QUESTION_LENGTH, MAX_REASON_LENGTH } from '../../domain/common/limits.ts';
import { MODEL_FAILURES } from '../../domain/agents/agent-work.ts';
import type { AgentWork, StepOutcome } from '../../domain/tasks/step-work.ts';
import type { Usage } from '../../domain/tasks/task-run.ts';
import { storable } from '../../domain/common/text.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { retryOnOutage } from '../retry-on-outage.ts';
import { createAgentFeed } from './agent-feed.ts';
import { waitUntilAllowed } from './wait-until-allowed.ts';

export type RemoteAgentActivities = ReturnType<typeof createRemoteAgentActivities>;

/** What an agent elsewhere is asked to do, within `timeLimitMs` from the start. `turn` counts from 1. */
export type RemoteAgentInput = {
  work: AgentWork;
  timeLimitMs: number;
  turn: number;
  /** What a person said to the question that a remote agent's task has asked. */
  answer?: { task: RemoteTask; text: string };
};
/** How the attempt ended, or what the remote agent wants to know first. */
export type RemoteOutcome = StepOutcome | { kind: 'asks'; text: string; task: RemoteTask; usage: Usage };

type Dependencies = {
  database: Database;
  catalogue: Pick<Catalogue, 'agents'>;
  environment: Environment;
  /** Refuses what the address guard refuses. */
  fetch: typeof globalThis.fetch;
  clock: () => Date;
  /** What a command writes to its standard error. */
  onDiagnostic(agent: string, line: string): void;
  /** Keeps a result for the steps that come after. */
  leaveResult(work: AgentWork, text: string): Promise<{ summary: string; text: string }>;
};

/** What the agent is told, and what goes into the record of it. */
type Brief = { agent: Agent; task: TaskTexts; earlier: EarlierResult[]; prompt: string; secrets: Secret[] };
type Stage = { listener: AgentListener; signal: AbortSignal };

class TimeIsUp extends Error {}

/** Agents at addresses, and agents that are programs. */
export function createRemoteAgentActivities(deps: Dependencies) {
  return {
    /** Has an agent that speaks A2A do a step. One that was taken up before a crash is asked for, not begun anew. */
    async askRemoteAgent(input: RemoteAgentInput): Promise<RemoteOutcome> {
      const { info } = Context.current();
      let task = (info.heartbeatDetails as RemoteTask | undefined) ?? null;
      const isUnderWay = task !== null;
      const stopHeartbeat = startHeartbeat(() => task ?? undefined);
      return await attempt(deps, input, 'a2a', async (brief, { listener, signal }) => {
        const { agent, prompt } = brief;
        if (!agent.a2a) throw new Error('agents.yml has no address for it');
        const { work, turn, answer } = input;
        const remote = await connectToRemote(agent.a2a, deps, signal);
        const message = {
          id: `${work.executionId}:${work.step.id}:${work.attempt}:${turn}`,
          text: answer ? answer.text : `${agent.instructions}\n\n${prompt}`,
          metadata: { execution_id: work.executionId, step: work.step.name, attempt: work.attempt },
          task: answer?.task ?? null,
        };
        const reportTask = (one: RemoteTask) => {
          if (one.id === task?.id) return;
          task = one;
          heartbeat(task);
        };
        const taskListener = { ...listener, task: reportTask };
        const about = { tokens: agent.limits.tokens, listener: taskListener };
        const said = isUnderWay ? { message: null, task } : { message, task: message.task };
        return await workByRemote(remote, { ...about, ...said, isGivenUp }, signal);
      }).finally(stopHeartbeat);
    },

    /** Has a program do a step; it is started anew after a crash of its worker. */
    async runCommand(input: RemoteAgentInput): Promise<RemoteOutcome> {
      const stopHeartbeat = startHeartbeat();
      return await attempt(deps, input, 'command', async (brief, { listener, signal }) => {
        const { command, limits, name } = brief.agent;
        if (!command) throw new Error('agents.yml has no command for it');
        const env = environmentOf(command.env, deps.environment);
        const hide = (line: string) => withoutSecrets(line, brief.secrets);
        const request = requestOf(input, brief, Context.current().info.attempt > 1);
        const commandListener = {
          ...listener,
          diagnostic: (line: string) => deps.onDiagnostic(name, hide(line)),
        };
        return await workByCommand(
          command,
          { env, request, tokens: limits.tokens, listener: commandListener },
          signal,
        );
      }).finally(stopHeartbeat);
    },
  };
}

/** Everything around the work itself: the brief, the limits, the feed, the record. */
async function attempt(
  deps: Dependencies,
  input: RemoteAgentInput,
  way: 'a2a' | 'command',
  work: (brief: Brief, stage: Stage) => Promise<AgentEnd>,
): Promise<RemoteOutcome> {
  const { info, cancellationSignal } = Context.current();
  const brief = await briefFor(deps, input.work);
  if ('error' in brief) return { kind: 'unrecoverable', message: brief.error };
  await waitUntilAllowed(deps.database, input.work.executionId, cancellationSignal);
  const agentFeed = await createAgentFeed(deps, input.work);
  const hide = (text: string) => storable(withoutSecrets(text, brief.secrets));
  const listener: AgentListener = {
    message: (text) => agentFeed.message(hide(text)),
    progress: (percent, text) => agentFeed.progress(percent, text === null ? null : hide(text)),
  };
  const startedAt = deps.clock();
  const left = Math.max(1, info.scheduledTimestampMs + input.timeLimitMs - startedAt.getTime());
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new TimeIsUp()), left);
  const signal = AbortSignal.any([cancellationSignal, late.signal]);
  const record = (end: AgentEnd, failure: string | null) =>
    recordWork(deps, input, { way, brief, end, failure, startedAt });
  try {
    const end = hidden(await work(brief, { listener, signal }), hide);
    const result = { outcome: null as RemoteOutcome | null };
    await retryOnOutage(async () => {
      await agentFeed.flush();
      result.outcome = await outcomeOf(deps, input, brief.agent, end);
      await record(end, null);
    }, cancellationSignal);
    if (result.outcome) return result.outcome;
    throw new Error('nothing was settled');
  } catch (error) {
    const timedOut = late.signal.aborted;
    const message = hide(failureMessage(input.work, error, timedOut));
    await agentFeed.flush().catch(() => {});
    await record({ kind: 'failed', message, usage: null }, message).catch(() => {});
    cancellationSignal.throwIfAborted();
    return { kind: 'failed', message, ...(timedOut ? { timedOut } : {}) };
  } finally {
    clearTimeout(timer);
    await agentFeed.drop();
  }
}

function failureMessage({ step }: AgentWork, error: unknown, timedOut: boolean): string {
  if (timedOut) return `took longer than ${step.time_limit_ms} ms`;
  if (Context.current().cancellationSignal.aborted)
    return 'interrupted because the run or its worker was stopped';
  return `calling ${step.agent} failed: ${reasonOf(error)}`.slice(0, MAX_REASON_LENGTH);
}

/** Whether nobody waits for the work any more; a worker that is stopped leaves it to the next one. */
function isGivenUp(): boolean {
  const { workerShutdown, timedOut } = Context.current().cancellationDetails ?? {};
  return workerShutdown !== true && timedOut !== true;
}

async function briefFor(deps: Dependencies, work: AgentWork): Promise<Brief | { error: string }> {
  const { database, catalogue, environment } = deps;
  const agent = catalogue.agents.get(work.step.agent);
  if (!agent) return { error: `agents.yml has no agent ${work.step.agent}` };
  const task = await taskTexts(database, work.executionId);
  if (!task) throw ApplicationFailure.nonRetryable('the task was erased', MODEL_FAILURES.over);
  const earlier = boundedResults(await stepResults(database, work.executionId, work.earlier));
  const prompt = promptFor({ name: work.step.name, planned: work.step.task ?? null }, task, earlier);
  const secrets = [
    ...secretsIn(Object.values(agent.a2a?.headersEnv ?? {}), environment),
    ...secretsAmong(agent.command?.env ?? [], environment),
  ];
  return { agent, task, earlier, prompt, secrets };
}

/** The one line that a command is given. */
function requestOf(
  { work, timeLimitMs }: RemoteAgentInput,
  { agent, task, earlier, prompt }: Brief,
  repeated: boolean,
) {
  const { id, name } = work.step;
  return {
    type: 'task',
    execution_id: work.executionId,
    step: { id, name, attempt: work.attempt, task: work.step.task ?? null },
    agent: { name: agent.name, instructions: agent.instructions },
    task,
    earlier,
    prompt: `${instructionsFor(agent)}\n\n${prompt}`,
    time_limit_ms: timeLimitMs,
    // True where a worker that had begun with this died.
    repeated,
  };
}

async function outcomeOf(
  { leaveResult }: Dependencies,
  { work }: RemoteAgentInput,
  { name, limits }: Agent,
  end: AgentEnd,
): Promise<RemoteOutcome> {
  const usage = { ...(end.usage ?? { input_tokens: 0, output_tokens: 0 }), model_calls: 1 };
  switch (end.kind) {
    case 'completed': {
      const kept = await leaveResult(work, end.text);
      return { kind: 'completed', result: { ...kept, usage: null, message: null }, usage };
    }
    case 'asks': {
      // What it took so far is part of what its task reports at the end.
      const text = cutText(end.text, MAX_QUESTION_LENGTH).text;
      return { ...end, text, usage: { input_tokens: 0, output_tokens: 0, model_calls: 1 } };
    }
    case 'escalated':
      return { kind: 'escalated', reason: end.reason.slice(0, MAX_REASON_LENGTH), usage };
    case 'limit': {
      const words = `${name} ${end.message} before ${work.step.name} was done`;
      return limits.on_limit === 'escalate'
        ? { kind: 'escalated', reason: words, usage }
        : { kind: 'unrecoverable', message: words, usage };
    }
    default:
      return { kind: end.kind, message: end.message.slice(0, MAX_REASON_LENGTH), usage };
  }
}

type Entry = {
  way: 'a2a' | 'command';
  brief: Brief;
  end: AgentEnd;
  failure: string | null;
  startedAt: Date;
};

/** The work of an agent elsewhere counts as one call of a model, with what the agent says that it took. */
async function recordWork(
  { database, clock }: Dependencies,
  { work, turn, answer }: RemoteAgentInput,
  { way, brief, end, failure, startedAt }: Entry,
): Promise<void> {
  const { usage, ...said } = end;
  const input = cutValue({ text: answer ? answer.text : brief.prompt }, CALL_RECORD_BYTES);
  const output = cutValue(said, CALL_RECORD_BYTES);
  await recordCall(database, {
    place: { executionId: work.executionId, stepId: work.step.id, attempt: work.attempt, number: turn },
    kind: 'model',
    name: `${way}/${brief.agent.name}`,
    input: input.value,
    output: output.value,
    truncated: input.truncated || output.truncated,
    usage: (end.kind === 'asks' ? null : usage) ?? { input_tokens: 0, output_tokens: 0 },
    failure,
    startedAt,
    duration_ms: clock().getTime() - startedAt.getTime(),
  });
}

/** The same without secrets, in every word of it. */
function hidden(end: AgentEnd, hide: (text: string) => string): AgentEnd {
  const texts = Object.entries(end).map(([key, value]) => [
    key,
    typeof value === 'string' ? hide(value) : value,
  ]);
  return { ...Object.fromEntries(texts), kind: end.kind } as AgentEnd;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return (message === 'fetch failed' || message === '') && cause instanceof Error ? reasonOf(cause) : message;
}
