import { ApplicationFailure, Context } from '@temporalio/activity';
import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type { Prices } from '../../agents/agent-settings.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import { failureOf, type ModelFailure } from '../../agents/model-failures.ts';
import type { Models } from '../../agents/models.ts';
import { findCall, isSameCall, recordCall, type NewCall } from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import type { AgentTraces, OperationResult } from '../../domain/agents/agent-traces.ts';
import { recordChange } from '../../database/tasks/feed.ts';
import {
  usageOfCall,
  type Price,
  CALL_CONTEXT_OPTION,
  MODEL_FAILURES,
  type ModelCallContext,
} from '../../domain/agents/agent-work.ts';
import { AGENT_MESSAGE_BYTES, CALL_RECORD_BYTES } from '../../domain/common/limits.ts';
import type { Usage } from '../../domain/tasks/run-schemas.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { retryUntilCancelled } from '../retry-on-outage.ts';
import { waitUntilAllowed } from './wait-until-allowed.ts';

type Dependencies = {
  database: Database;
  models: Models;
  prices: Prices;
  clock: () => Date;
  traces: AgentTraces;
  /** Called after every call; without usage if it failed. */
  onCall?: ((call: { model: string; usage: Usage | null; duration_ms: number }) => void) | undefined;
};
type ModelCallInput = { modelId: string; options: LanguageModelV4CallOptions };
/** The part of a response that the workflow needs, without the raw request and response. */
type Answer = Pick<LanguageModelV4GenerateResult, 'content' | 'finishReason' | 'usage' | 'warnings'>;

/** Creates the activity for model calls, with the name that the AI SDK's provider for workflows expects. */
export function createModelActivities(deps: Dependencies) {
  return {
    /**
     * Calls a model once and records the call. A repeat of a call whose response is recorded already, as after a crash
     * between the two or a reset in the Temporal Web UI, returns the recorded response.
     * @throws ApplicationFailure of one of {@link MODEL_FAILURES}; retried by the workflow's policy, after the time
     * that the provider asks for
     */
    async invokeModel({ modelId, options }: ModelCallInput): Promise<Answer> {
      const { info, cancellationSignal } = Context.current();
      const callContext = callContextOf(options);
      using _heartbeat = startHeartbeat();
      const isRepeat = info.attempt > 1;
      const known = await retryUntilCancelled(
        () => findAnswer(deps.database, modelId, options, callContext, isRepeat),
        cancellationSignal,
      );
      if (known !== null) return known;
      await waitUntilAllowed(deps.database, callContext.place.executionId, cancellationSignal);
      return await ask(deps, modelId, withoutCallContext(options), callContext, cancellationSignal);
    },
  };
}

/** Returns the recorded response of the same call; null if there is none, or only a part was recorded. */
async function findAnswer(
  database: Database,
  modelId: string,
  { prompt }: LanguageModelV4CallOptions,
  { place }: ModelCallContext,
  isRepeat: boolean,
): Promise<Answer | null> {
  const recorded = await findCall(database, place);
  if (recorded === null || recorded.failure !== null || recorded.truncated) return null;
  const { value: input, truncated } = recordedInputOf(prompt);
  // After a reset this may be another call, and only the beginning of a long input is recorded.
  if (truncated && !isRepeat) return null;
  return isSameCall(recorded, { name: modelId, input }) ? (recorded.output as Answer) : null;
}

/** Calls the model and records the result, with retries during a database outage: a response is paid for. */
async function ask(
  deps: Dependencies,
  modelId: string,
  options: LanguageModelV4CallOptions,
  callContext: ModelCallContext,
  cancelled: AbortSignal,
): Promise<Answer> {
  const late = AbortSignal.timeout(callContext.callTimeMs);
  const startedAt = deps.clock();
  const began = performance.now();
  const input = recordedInputOf(options.prompt).value;
  const reportEnd = (usage: Usage | null) =>
    deps.onCall?.({ model: modelId, usage, duration_ms: performance.now() - began });
  const record = (ended: Pick<NewCall, 'output' | 'truncated' | 'usage' | 'failure'>) => {
    const duration_ms = performance.now() - began;
    const call = {
      place: callContext.place,
      kind: 'model' as const,
      name: modelId,
      input,
      startedAt,
      duration_ms,
    };
    return recordCall(deps.database, { ...call, ...ended });
  };
  let answer: Answer;
  try {
    const abortSignal = AbortSignal.any([cancelled, late]);
    const chat = { kind: 'chat', model: modelId, agent: callContext.step.agent } as const;
    const response = await deps.traces.run(chat, async (report) => {
      const generated = await deps.models.get(modelId).doGenerate({ ...options, abortSignal });
      report(tracedResult(generated));
      return generated;
    });
    answer = answerOf(response);
  } catch (error) {
    if (cancelled.aborted) throw error;
    const failure = late.aborted
      ? timeoutFailure(callContext.callTimeMs, modelId)
      : failureOf(error, modelId, Date.now(), deps.models.withoutKeys);
    reportEnd(null);
    const failed = { output: null, truncated: false, usage: null, failure: failure.message };
    await retryUntilCancelled(() => record(failed), cancelled);
    throw applicationFailure(failure);
  }
  const { value: output, truncated } = cutValue(answer, CALL_RECORD_BYTES);
  const usage = usageOf(answer, deps.prices[modelId]);
  reportEnd(usage);
  await retryUntilCancelled(async () => {
    await record({ output, truncated, usage, failure: null });
    await emitMessage(deps, answer, callContext);
  }, cancelled);
  return answer;
}

function timeoutFailure(ms: number, model: string): ModelFailure {
  return { kind: 'failed', message: `${model} did not respond within ${ms} ms`, retryInMs: null };
}

function applicationFailure(failure: ModelFailure): ApplicationFailure {
  const { kind, message } = failure;
  if (kind === 'refused') return ApplicationFailure.nonRetryable(message, MODEL_FAILURES.refused);
  const { retryInMs } = failure;
  const delay = retryInMs === null ? {} : { nextRetryDelay: retryInMs };
  return ApplicationFailure.create({ message, type: MODEL_FAILURES.failed, ...delay });
}

/** Writes the text of the model to the feed of the run. A repeat writes nothing. */
async function emitMessage(
  { database, clock }: Dependencies,
  { content }: Answer,
  callContext: ModelCallContext,
): Promise<void> {
  const { executionId, stepId: id, attempt, number } = callContext.place;
  const whole = content
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('\n')
    .trim();
  if (!callContext.isTold || whole === '') return;
  const { text } = cutText(whole, AGENT_MESSAGE_BYTES);
  const entry = {
    key: `agent.message:${id}:${attempt}:${number}`,
    type: 'agent.message' as const,
    at: clock().toISOString(),
    data: { step: { id, ...callContext.step, attempt }, text },
  };
  await recordChange(database, { executionId, view: null, entries: [entry] });
}

function callContextOf({ providerOptions }: LanguageModelV4CallOptions): ModelCallContext {
  const callContext = providerOptions?.[CALL_CONTEXT_OPTION];
  if (!callContext) throw ApplicationFailure.nonRetryable('a model call has no record');
  return callContext as unknown as ModelCallContext;
}

function withoutCallContext(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { [CALL_CONTEXT_OPTION]: _, ...providerOptions } = options.providerOptions ?? {};
  return { ...options, providerOptions };
}

function answerOf({ content, finishReason, usage, warnings }: LanguageModelV4GenerateResult): Answer {
  const { raw: _, ...counted } = usage;
  return { content, finishReason, usage: counted, warnings };
}

/** Returns what a trace shows of a response. */
function tracedResult({ usage, finishReason, response }: LanguageModelV4GenerateResult): OperationResult {
  const { inputTokens: input, outputTokens: output } = usage;
  return {
    inputTokens: input.total,
    outputTokens: output.total,
    cacheReadTokens: input.cacheRead,
    cacheWriteTokens: input.cacheWrite,
    reasoningTokens: output.reasoning,
    finishReason: finishReason.unified,
    responseId: response?.id,
    responseModel: response?.modelId,
  };
}

function usageOf({ usage }: Answer, price: Price | undefined): Usage {
  const tokens = { input: usage.inputTokens.total ?? 0, output: usage.outputTokens.total ?? 0 };
  return usageOfCall(tokens, price ?? null);
}

/**
 * Returns the messages since the model's last response, cut. The record does not need the whole conversation for each
 * call.
 */
function recordedInputOf(prompt: LanguageModelV4CallOptions['prompt']): {
  value: unknown;
  truncated: boolean;
} {
  const latest = prompt.slice(prompt.findLastIndex(({ role }) => role === 'assistant') + 1);
  return cutValue(latest, CALL_RECORD_BYTES);
}
