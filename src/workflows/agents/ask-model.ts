import { TemporalProvider } from '@temporalio/ai-sdk/workflow';
import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';
import { generateText, jsonSchema, tool, type ToolSet } from 'ai';
import {
  type ToolDescription,
  CALL_CONTEXT_OPTION,
  MODEL_FAILURES,
  type ModelCallContext,
} from '../../domain/agents/agent-work.ts';
import { truncate } from '../../domain/common/text.ts';
import type { StepOutcome } from '../../domain/tasks/step-work.ts';
import type { StepAttempt } from './step-attempt.ts';

/** A tool call, as the model wrote it. `fault`: why it cannot be made. */
export type ToolCall = { id: string; name: string; input: unknown; fault: string | null };

/** The result of one model call: the end of the step's work, or calls that the model waits for. */
export type Turn =
  | { kind: 'answered'; text: string }
  | { kind: 'calls'; calls: ToolCall[] }
  | { kind: 'broken'; outcome: StepOutcome };

/**
 * Missing heartbeats reveal a crashed worker. The activity limits the call itself, by the time that the catalogue
 * gives.
 */
const CALL_POLICY = {
  heartbeatTimeout: '5 s',
  startToCloseTimeout: '24 h',
  retry: {
    initialInterval: '500 ms',
    backoffCoefficient: 2,
    maximumInterval: '30 s',
    maximumAttempts: 10,
  },
} as const;

/** Calls the model once with the whole conversation, and adds its response to the conversation. */
export async function askModel(attempt: StepAttempt): Promise<Turn> {
  const { brief, tools } = attempt.opened;
  const { step } = attempt.work;
  const key = attempt.nextCallKey();
  attempt.modelCalls += 1;
  const callContext: ModelCallContext = {
    place: key,
    step: { name: step.name, agent: step.agent },
    callTimeMs: brief.callTimeMs,
    isTold: true,
  };
  try {
    const result = await generateText({
      model: modelFor(brief.model, `${step.name} · ${step.agent} · model call ${attempt.modelCalls}`),
      instructions: brief.instructions,
      messages: [...attempt.conversation.messages],
      tools: toolSet(tools),
      maxRetries: 0,
      providerOptions: { [CALL_CONTEXT_OPTION]: callContext },
    });
    attempt.count({ input: result.usage.inputTokens ?? 0, output: result.usage.outputTokens ?? 0 });
    // The SDK has already answered invalid calls. Our answers replace those, so only the assistant's messages are kept.
    attempt.conversation.add(result.response.messages.filter(({ role }) => role === 'assistant'));
    return turnOf(result, brief.model);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { kind: 'broken', outcome: outcomeOf(error) };
  }
}

/** Returns a model for workflow code. Each call is an activity on the worker's own queue. */
export function modelFor(name: string, summary: string) {
  return new TemporalProvider({ languageModel: { ...CALL_POLICY, summary } }).languageModel(name);
}

/** Returns how a step ends if its model could not be called. */
export function outcomeOf({ cause, message }: ActivityFailure): StepOutcome {
  const reason = cause?.message ?? message;
  const isRefused = cause instanceof ApplicationFailure && cause.type === MODEL_FAILURES.refused;
  return isRefused ? { kind: 'unrecoverable', message: reason } : { kind: 'failed', message: reason };
}

type Result = Pick<Awaited<ReturnType<typeof generateText<ToolSet>>>, 'text' | 'toolCalls' | 'finishReason'>;

function turnOf({ text, toolCalls, finishReason }: Result, model: string): Turn {
  if (toolCalls.length > 0) return { kind: 'calls', calls: toolCalls.map(callOf) };
  const answer = text.trim();
  if (finishReason === 'content-filter') {
    return broken({
      kind: 'unrecoverable',
      message: `${model} refused to answer${answer ? `: ${truncate(answer, 500)}` : ''}`,
    });
  }
  if (finishReason === 'length') {
    return broken({ kind: 'failed', message: `${model} reached its maximum answer length` });
  }
  if (answer === '') return broken({ kind: 'failed', message: `${model} returned an empty answer` });
  return { kind: 'answered', text: answer };
}

function broken(outcome: StepOutcome): Turn {
  return { kind: 'broken', outcome };
}

function callOf(call: Result['toolCalls'][number]): ToolCall {
  const { toolCallId: id, toolName: name, input } = call;
  const isWrong = 'invalid' in call && call.invalid === true;
  const isText = typeof input === 'string';
  const fault = isWrong
    ? isText
      ? 'the arguments are not JSON'
      : `you have no tool ${truncate(name, 100)}`
    : null;
  return { id, name, input, fault };
}

/** Describes the tools to the model without functions to run them. The workflow makes the calls, one turn at a time. */
function toolSet(tools: readonly ToolDescription[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input_schema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(input_schema) }),
    ]),
  );
}
