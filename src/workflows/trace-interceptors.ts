import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  workflowInfo,
  type Headers,
  type Sinks,
  type ActivityInput,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { CALL_CONTEXT_OPTION, type ModelCallContext } from '../domain/agents/agent-work.ts';
import type { StepOutcome } from '../domain/tasks/step-work.ts';

/*
 * Carries traces through workflows, in the bundle of installations that collect traces. It must never change what
 * workflow code does when: histories recorded without it are replayed with it, and the other way round. So every call
 * continues synchronously without its own await, uses no random numbers, and adds only headers to commands.
 */

/** Name of the Temporal header that contains a `traceparent`. */
export const TRACE_HEADER = 'traceparent';

/** A span of a workflow that has ended. Times in milliseconds since 1970. */
export type WorkflowSpan = {
  parent: string;
  traceparent: string;
  startMs: number;
  endMs: number;
  outcome: 'completed' | 'failed' | 'cancelled';
  /** The agent of the last model call; null if the workflow has called no model. */
  asked: AskedAgent | null;
  /** What the workflow returned about the work of its agent; null if it returned nothing of the kind. */
  work: AgentResult | null;
};

/** `model`: `provider/model`. */
export type AskedAgent = { executionId: string; agent: string; model: string };
/** `failure`: how the step failed; null if it did not. */
export type AgentResult = {
  failure: string | null;
  usage: { input_tokens: number; output_tokens: number } | null;
};

export interface TraceSinks extends Sinks {
  traces: { ended(span: WorkflowSpan): void };
}

/** Trace, span and flags of version 00. */
const FORM = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Creates the interceptors of one workflow. */
export function interceptors(): WorkflowInterceptors {
  const { traces } = proxySinks<TraceSinks>();
  let own: Payload | null = null;
  let asked: AskedAgent | null = null;

  function traced<Input extends { headers: Headers }>(input: Input): Input {
    return own === null ? input : { ...input, headers: { ...input.headers, [TRACE_HEADER]: own } };
  }

  return {
    inbound: [
      {
        execute(input, next) {
          const parent = textOf(input.headers[TRACE_HEADER]);
          const [, traceId, flags] = FORM.exec(parent) ?? [];
          if (traceId === undefined) return next(input);
          const { runId, runStartTime } = workflowInfo();
          const traceparent = `00-${traceId}-${spanIdOf(runId)}-${flags}`;
          own = defaultPayloadConverter.toPayload(traceparent) ?? null;
          const report = (outcome: WorkflowSpan['outcome'], result?: unknown) =>
            traces.ended({
              parent,
              traceparent,
              startMs: runStartTime.getTime(),
              endMs: Date.now(),
              outcome,
              asked,
              work: asked && workIn(result),
            });
          const done = next(input);
          done.then(
            (result) => report('completed', result),
            (error: unknown) => report(outcomeOf(error)),
          );
          return done;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity(input, next) {
          asked = askedBy(input) ?? asked;
          return next(traced(input));
        },
        scheduleLocalActivity: (input, next) => next(traced(input)),
        startChildWorkflowExecution: (input, next) => next(traced(input)),
        continueAsNew: (input, next) => next(traced(input)),
      },
    ],
  };
}

function outcomeOf(error: unknown): WorkflowSpan['outcome'] {
  // The next execution has a separate span, below this one.
  if (error instanceof ContinueAsNew) return 'completed';
  return isCancellation(error) ? 'cancelled' : 'failed';
}

/** Returns the agent and the model of a model call; null for other activities. */
function askedBy({ activityType, args }: ActivityInput): AskedAgent | null {
  if (activityType !== 'invokeModel') return null;
  const [call] = args as [{ modelId: string; options?: { providerOptions?: Record<string, unknown> } }?];
  const context = call?.options?.providerOptions?.[CALL_CONTEXT_OPTION] as ModelCallContext | undefined;
  if (call === undefined || context === undefined) return null;
  return { executionId: context.place.executionId, agent: context.step.agent, model: call.modelId };
}

/** Returns what the result of an attempt of a step (`StepOutcome`) says without its texts. */
function workIn(result: unknown): AgentResult | null {
  const { kind, usage } = (result ?? {}) as Partial<StepOutcome>;
  if (kind === undefined) return null;
  const isFailure = kind === 'failed' || kind === 'unrecoverable';
  const tokens = usage && { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens };
  return { failure: isFailure ? kind : null, usage: tokens ?? null };
}

function textOf(payload: Payload | undefined): string {
  return payload ? String(defaultPayloadConverter.fromPayload(payload)) : '';
}

/** Returns the span id for a run id: the second half of the UUID, which is random in every version. */
function spanIdOf(runId: string): string {
  return runId.replaceAll('-', '').slice(16);
}
