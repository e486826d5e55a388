import { ApplicationFailure, Context } from '@temporalio/activity';
import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type { Prices } from '../../agents/agent-settings.ts';
import { cutText, cutValue } from '../../agents/cut.ts';
import { failureOf, type ModelFailure } from '../../agents/model-failures.ts';
import type { Models } from '../../agents/models.ts';
import { answerOfCall, recordCall, type NewCall } from '../../database/agents/agent-calls.ts';
import type { Database } from '../../database/database.ts';
import { recordChange } from '../../database/tasks/feed.ts';
import {
  usageOfCall,
  type Price,
  CALL_NOTE,
  MODEL_FAILURES,
  type ModelCallNote,
} from '../../domain/agents/agent-work.ts';
import { AGENT_MESSAGE_BYTES, CALL_RECORD_BYTES } from '../../domain/common/limits.ts';
import type { Usage } from '../../domain/tasks/task-run.ts';
import { keepBeating } from '../heartbeat.ts';
import { despiteOutages } from '../despite-outages.ts';
import { untilAllowed } from './until-allowed.ts';

type Dependencies = {
  database: Database;
  models: Models;
  prices: Prices;
  clock: () => Date;
  /** Told of every call that has ended; no usage where it failed. */
  onCall?: ((call: { model: string; usage: Usage | null; duration_ms: number }) => void) | undefined;
};
type Asked = { modelId: string; options: LanguageModelV4CallOptions };
/** What of an answer the workflow needs; request and response as they went over the line are not. */
type Answer = Pick<LanguageModelV4GenerateResult, 'content' | 'finishReason' | 'usage' | 'warnings'>;

/** Calls of models, by the name under which the AI SDK's provider for workflows asks for them. */
export function createModelActivities(deps: Dependencies) {
  return {
    /**
     * Asks a model once and writes the record of it. A repeat of a call whose answer is in the record already, which
     * is what a crash between the two leaves, is answered from there.
     * @throws ApplicationFailure of one of {@link MODEL_FAILURES}; retried by the workflow's policy, after the time
     *   that the provider asks for
     */
    async invokeModel({ modelId, options }: Asked): Promise<Answer> {
      const { info, cancellationSignal } = Context.current();
      const note = noteOf(options);
      const stopBeating = keepBeating();
      try {
        if (info.attempt > 1) {
          const known = (await answerOfCall(deps.database, note.place)) as Answer | null;
          if (known !== null) return known;
        }
        await untilAllowed(deps.database, note.place.executionId, cancellationSignal);
        return await ask(deps, modelId, withoutNote(options), note, cancellationSignal);
      } finally {
        stopBeating();
      }
    },
  };
}

/** Asks, and writes what became of it: an answer patiently, since it is paid for. */
async function ask(
  deps: Dependencies,
  modelId: string,
  options: LanguageModelV4CallOptions,
  note: ModelCallNote,
  cancelled: AbortSignal,
): Promise<Answer> {
  const late = AbortSignal.timeout(note.callTimeMs);
  const startedAt = deps.clock();
  const began = performance.now();
  const input = cutValue(latestOf(options.prompt), CALL_RECORD_BYTES).value;
  const noteEnd = (usage: Usage | null) =>
    deps.onCall?.({ model: modelId, usage, duration_ms: performance.now() - began });
  const record = (ended: Pick<NewCall, 'output' | 'truncated' | 'usage' | 'failure'>) => {
    const duration_ms = performance.now() - began;
    const call = { place: note.place, kind: 'model' as const, name: modelId, input, startedAt, duration_ms };
    return recordCall(deps.database, { ...call, ...ended });
  };
  let answer: Answer;
  try {
    const abortSignal = AbortSignal.any([cancelled, late]);
    answer = answerOf(await deps.models.get(modelId).doGenerate({ ...options, abortSignal }));
  } catch (error) {
    if (cancelled.aborted) throw error;
    const failure = late.aborted
      ? lateAfter(note.callTimeMs, modelId)
      : failureOf(error, modelId, Date.now());
    const message = deps.models.withoutKeys(failure.message);
    noteEnd(null);
    await record({ output: null, truncated: false, usage: null, failure: message }).catch(noRecord);
    throw applicationFailure({ ...failure, message });
  }
  const { value: output, truncated } = cutValue(answer, CALL_RECORD_BYTES);
  const usage = usageOf(answer, deps.prices[modelId]);
  noteEnd(usage);
  await despiteOutages(async () => {
    await record({ output, truncated, usage, failure: null });
    await tell(deps, answer, note);
  }, cancelled).catch((error: unknown) => (cancelled.aborted ? Promise.reject(error) : noRecord()));
  return answer;
}

/** @throws ApplicationFailure, without what the database says: that would stand in the history and among errors */
function noRecord(): never {
  throw ApplicationFailure.create({
    message: 'recording a model call failed',
    type: MODEL_FAILURES.failed,
  });
}

function lateAfter(ms: number, model: string): ModelFailure {
  return { kind: 'failed', message: `${model} did not respond within ${ms} ms`, retryInMs: null };
}

function applicationFailure(failure: ModelFailure): ApplicationFailure {
  const { kind, message } = failure;
  if (kind === 'refused') return ApplicationFailure.nonRetryable(message, MODEL_FAILURES.refused);
  const { retryInMs } = failure;
  const delay = retryInMs === null ? {} : { nextRetryDelay: retryInMs };
  return ApplicationFailure.create({ message, type: MODEL_FAILURES.failed, ...delay });
}

/** Tells what the model said in the run's feed; a repeat of it writes nothing. */
async function tell(
  { database, clock }: Dependencies,
  { content }: Answer,
  note: ModelCallNote,
): Promise<void> {
  const { executionId, stepId: id, attempt, number } = note.place;
  const said = content
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('\n')
    .trim();
  if (!note.isTold || said === '') return;
  const { text } = cutText(said, AGENT_MESSAGE_BYTES);
  const entry = {
    key: `agent.message:${id}:${attempt}:${number}`,
    type: 'agent.message' as const,
    at: clock().toISOString(),
    data: { step: { id, ...note.step, attempt }, text },
  };
  await recordChange(database, { executionId, view: null, entries: [entry] });
}

function noteOf({ providerOptions }: LanguageModelV4CallOptions): ModelCallNote {
  const note = providerOptions?.[CALL_NOTE];
  if (!note) throw ApplicationFailure.nonRetryable('a model call has no record');
  return note as unknown as ModelCallNote;
}

function withoutNote(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { [CALL_NOTE]: _, ...providerOptions } = options.providerOptions ?? {};
  return { ...options, providerOptions };
}

function answerOf({ content, finishReason, usage, warnings }: LanguageModelV4GenerateResult): Answer {
  const { raw: _, ...counted } = usage;
  return { content, finishReason, usage: counted, warnings };
}

function usageOf({ usage }: Answer, price: Price | undefined): Usage {
  const tokens = { input: usage.inputTokens.total ?? 0, output: usage.outputTokens.total ?? 0 };
  return usageOfCall(tokens, price ?? null);
}

/** What a call says that the one before it did not: the record need not hold the whole conversation with each. */
function latestOf(prompt: LanguageModelV4CallOptions['prompt']): unknown {
  return prompt.slice(prompt.findLastIndex(({ role }) => role === 'assistant') + 1);
}
