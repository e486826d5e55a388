import { ApplicationFailure, Context, heartbeat } from '@temporalio/activity';
import type { Agent } from '../../agents/agent-settings.ts';
import type { AgentListener, AgentEnd, RemoteTask } from '../../agents/agent-end.ts';
import { connectToRemote } from '../../agents/a2a-client.ts';
import { cancelTask, workByRemote } from '../../agents/a2a-work.ts';
import type { Catalogue } from '../../agents/catalogue.ts';
import { workByCommand } from '../../agents/command-agent.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import type { Isolation } from '../../agents/isolation.ts';
import { environmentOf, LONGEST_DIAGNOSTIC } from '../../agents/own-process.ts';
import { boundedResults, instructionsFor, promptFor, type EarlierResult } from '../../agents/prompt.ts';
import {
  beginningWithoutSecrets,
  secretsAmong,
  secretsIn,
  withoutSecrets,
  type Environment,
  type Secret,
} from '../../agents/secrets.ts';
import { recordCall } from '../../database/agents/agent-calls.ts';
import { refusedDataCode } from '../../database/common/outage.ts';
import type { Database } from '../../database/database.ts';
import { listStepResults, findTaskTexts, type TaskTexts } from '../../database/tasks/step-results.ts';
import { CALL_RECORD_BYTES, MAX_QUESTION_LENGTH, MAX_REASON_LENGTH } from '../../domain/common/limits.ts';
import type { AgentTraces, OperationResult } from '../../domain/agents/agent-traces.ts';
import { MODEL_FAILURES } from '../../domain/agents/agent-work.ts';
import type { AgentWork, StepOutcome } from '../../domain/tasks/step-work.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { storable, truncate } from '../../domain/common/text.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { retryUntilCancelled } from '../retry-on-outage.ts';
import { createAgentFeed } from './agent-feed.ts';
import { waitUntilAllowed } from './wait-until-allowed.ts';

export type RemoteAgentActivities = ReturnType<typeof createRemoteAgentActivities>;

/** Work for a remote agent or a program, within `timeLimitMs` from the start. `turn` counts from 1. */
export type RemoteAgentInput = {
  work: AgentWork;
  timeLimitMs: number;
  turn: number;
  /** A person's answer to the question of the remote agent's task. */
  answer?: { task: RemoteTask; text: string };
};
/** How the attempt ended, or the question of the remote agent. */
export type RemoteOutcome = StepOutcome | { kind: 'asks'; text: string; task: RemoteTask; usage: Usage };

type Dependencies = {
  database: Database;
  catalogue: Pick<Catalogue, 'agents'>;
  environment: Environment;
  /** For agents that are programs. */
  isolation: Isolation;
  /** Rejects addresses that the address guard rejects. */
  fetch: typeof globalThis.fetch;
  clock: () => Date;
  traces: AgentTraces;
  /** Called for each line that a command writes to its standard error. */
  onDiagnostic(agent: string, line: string): void;
  /** Stores a result for later steps. */
  leaveResult(work: AgentWork, text: string): Promise<{ summary: string; text: string }>;
};

/** Input of the agent, and what its record contains. */
type Brief = { agent: Agent; task: TaskTexts; earlier: EarlierResult[]; prompt: string; secrets: Secret[] };
type AttemptContext = { listener: AgentListener; signal: AbortSignal };

class TimeLimitExceeded extends Error {
  override name = 'TimeLimitExceeded';
}

/** Creates the activities for remote agents and for programs. */
export function createRemoteAgentActivities(deps: Dependencies) {
  return {
    /** Runs a step by an agent that speaks A2A. After a crash, it continues a task that was created before. */
    async askRemoteAgent(input: RemoteAgentInput): Promise<RemoteOutcome> {
      const { info } = Context.current();
      let task = (info.heartbeatDetails as RemoteTask | undefined) ?? null;
      const isUnderWay = task !== null;
      using _heartbeat = startHeartbeat(() => task ?? undefined);
      return await attempt(deps, input, 'a2a', async (brief, { listener, signal }) => {
        const { agent, prompt } = brief;
        if (!agent.a2a) throw new Error('agents.yml has no `a2a` for this agent');
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
        const beginning = isUnderWay ? { message: null, task } : { message, task: message.task };
        return await workByRemote(remote, { ...about, ...beginning, isGivenUp }, signal);
      });
    },

    /**
     * Cancels the task of a remote agent, whose question nobody will answer.
     * @throws if the agent is unreachable
     */
    async cancelRemoteTask({ agent: name, task }: { agent: string; task: RemoteTask }): Promise<void> {
      const agent = deps.catalogue.agents.get(name);
      if (!agent?.a2a) return;
      const { client } = await connectToRemote(agent.a2a, deps, Context.current().cancellationSignal);
      await cancelTask(client, task);
    },

    /** Runs a step by a program. After a crash of its worker, it starts the program again. */
    async runCommand(input: RemoteAgentInput): Promise<RemoteOutcome> {
      using _heartbeat = startHeartbeat();
      return await attempt(deps, input, 'command', async (brief, { listener, signal }) => {
        const { command, limits, name } = brief.agent;
        if (!command) throw new Error('agents.yml has no `command` for this agent');
        const env = environmentOf(command.env, deps.environment);
        const hide = (text: string) => withoutSecrets(text, brief.secrets);
        const request = requestOf(input, brief, Context.current().info.attempt > 1);
        const commandListener = {
          ...listener,
          diagnostic: (line: string) =>
            deps.onDiagnostic(name, beginningWithoutSecrets(line, brief.secrets, LONGEST_DIAGNOSTIC)),
        };
        return await workByCommand(
          command,
          { env, isolation: deps.isolation, request, tokens: limits.tokens, listener: commandListener, hide },
          signal,
        );
      });
    },
  };
}

/** Runs one attempt: reads its input, applies the limits, writes the feed and records the work. */
async function attempt(
  deps: Dependencies,
  input: RemoteAgentInput,
  backend: 'a2a' | 'command',
  work: (brief: Brief, context: AttemptContext) => Promise<AgentEnd>,
): Promise<RemoteOutcome> {
  const { info, cancellationSignal } = Context.current();
  const brief = await briefFor(deps, input.work);
  if ('error' in brief) return { kind: 'unrecoverable', message: brief.error };
  await waitUntilAllowed(deps.database, input.work.executionId, cancellationSignal);
  const agentFeed = await retryUntilCancelled(() => createAgentFeed(deps, input.work), cancellationSignal);
  const hide = (text: string) => storable(withoutSecrets(text, brief.secrets));
  const listener: AgentListener = {
    message: (text) => agentFeed.message(hide(text)),
    progress: (percent, text) => agentFeed.progress(percent, text === null ? null : hide(text)),
  };
  const startedAt = deps.clock();
  const left = Math.max(1, info.scheduledTimestampMs + input.timeLimitMs - startedAt.getTime());
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new TimeLimitExceeded()), left);
  const signal = AbortSignal.any([cancellationSignal, late.signal]);
  const record = (end: AgentEnd, failure: string | null) =>
    recordWork(deps, input, { backend, brief, end, failure, startedAt });
  try {
    const operation = { kind: 'invoke_agent', agent: brief.agent.name, backend } as const;
    const ended = await deps.traces.run(operation, async (report) => {
      const result = await work(brief, { listener, signal });
      report(tracedEnd(result));
      return result;
    });
    const end = hideSecrets(ended, hide);
    return await retryUntilCancelled(async () => {
      await agentFeed.flush();
      const outcome = await outcomeOf(deps, input, brief.agent, end);
      await record(end, null);
      return outcome;
    }, cancellationSignal);
  } catch (error) {
    if (refusedDataCode(error) !== null) throw error;
    const timedOut = late.signal.aborted;
    const message = truncate(hide(failureMessage(input.work, error, timedOut)), MAX_REASON_LENGTH);
    await agentFeed.flush().catch(() => {});
    await record({ kind: 'failed', message, usage: null }, message).catch(() => {});
    cancellationSignal.throwIfAborted();
    if (timedOut) return atTimeLimit(input.work, brief.agent, message);
    return { kind: 'failed', message };
  } finally {
    clearTimeout(timer);
    await agentFeed.drop();
  }
}

/** Returns what a trace shows of the end of the work. */
function tracedEnd({ kind, usage }: AgentEnd): OperationResult {
  const isFailure = kind === 'failed' || kind === 'unrecoverable' || kind === 'limit';
  return {
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    failure: isFailure ? kind : undefined,
  };
}

function failureMessage({ step }: AgentWork, error: unknown, timedOut: boolean): string {
  if (timedOut) return `took longer than ${step.time_limit_ms} ms`;
  if (Context.current().cancellationSignal.aborted)
    return 'interrupted because the run or its worker was stopped';
  return `calling ${step.agent} failed: ${reasonOf(error)}`;
}

function atTimeLimit({ step }: AgentWork, { limits }: Agent, message: string): StepOutcome {
  return limits.on_limit === 'escalate'
    ? { kind: 'escalated', reason: `${step.agent} ${message} for ${step.name}` }
    : { kind: 'failed', timedOut: true, message };
}

/**
 * Returns whether the work is no longer needed. If a worker only shuts down, or the activity is paused or reset in
 * Temporal, the next try continues it.
 */
function isGivenUp(): boolean {
  const details = Context.current().cancellationDetails;
  if (details === undefined || details.cancelRequested) return true;
  const { workerShutdown, timedOut, paused, reset } = details;
  return !workerShutdown && !timedOut && !paused && !reset;
}

async function briefFor(deps: Dependencies, work: AgentWork): Promise<Brief | { error: string }> {
  const { database, catalogue, environment } = deps;
  const agent = catalogue.agents.get(work.step.agent);
  if (!agent) return { error: `agents.yml has no agent ${work.step.agent}` };
  const { task, results } = await retryUntilCancelled(
    async () => ({
      task: await findTaskTexts(database, work.executionId),
      results: await listStepResults(database, work.executionId, work.earlier),
    }),
    Context.current().cancellationSignal,
  );
  if (!task) throw ApplicationFailure.nonRetryable('the task was erased', MODEL_FAILURES.over);
  const earlier = boundedResults(results);
  const prompt = promptFor(work.step, task, earlier);
  const secrets = [
    ...secretsIn(Object.values(agent.a2a?.headersEnv ?? {}), environment),
    ...secretsAmong(agent.command?.env ?? [], environment),
  ];
  return { agent, task, earlier, prompt, secrets };
}

/** Returns the request that a command gets as one line. */
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
    // What people have answered when the step escalated in earlier runs.
    answers: work.step.answers ?? [],
    prompt: `${instructionsFor(agent)}\n\n${prompt}`,
    time_limit_ms: timeLimitMs,
    // True if this work was started before by a worker that died.
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
      // The task reports its total usage at the end, which includes this part.
      const text = cutText(end.text, MAX_QUESTION_LENGTH).text;
      return { ...end, text, usage: { input_tokens: 0, output_tokens: 0, model_calls: 1 } };
    }
    case 'escalated':
      return { kind: 'escalated', reason: truncate(end.reason, MAX_REASON_LENGTH), usage };
    case 'limit': {
      const words = `${name} ${end.message} before ${work.step.name} was done`;
      return limits.on_limit === 'escalate'
        ? { kind: 'escalated', reason: words, usage }
        : { kind: 'unrecoverable', message: words, usage };
    }
    default:
      return { kind: end.kind, message: truncate(end.message, MAX_REASON_LENGTH), usage };
  }
}

type Entry = {
  backend: 'a2a' | 'command';
  brief: Brief;
  end: AgentEnd;
  failure: string | null;
  startedAt: Date;
};

/** Records the work of a remote agent as one model call, with the usage that the agent reports. */
async function recordWork(
  { database, clock }: Dependencies,
  { work, turn, answer }: RemoteAgentInput,
  { backend, brief, end, failure, startedAt }: Entry,
): Promise<void> {
  const { usage, ...recorded } = end;
  const input = cutValue({ text: answer ? answer.text : brief.prompt }, CALL_RECORD_BYTES);
  const output = cutValue(recorded, CALL_RECORD_BYTES);
  await recordCall(database, {
    place: { executionId: work.executionId, stepId: work.step.id, attempt: work.attempt, number: turn },
    kind: 'model',
    name: `${backend}/${brief.agent.name}`,
    input: input.value,
    output: output.value,
    truncated: input.truncated || output.truncated,
    usage: (end.kind === 'asks' ? null : usage) ?? { input_tokens: 0, output_tokens: 0 },
    failure,
    startedAt,
    duration_ms: clock().getTime() - startedAt.getTime(),
  });
}

/** Returns the result with secrets hidden in all its texts. */
function hideSecrets(end: AgentEnd, hide: (text: string) => string): AgentEnd {
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
