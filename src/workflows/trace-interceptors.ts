import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  workflowInfo,
  type Headers,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

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
          const report = (outcome: WorkflowSpan['outcome']) =>
            traces.ended({
              parent,
              traceparent,
              startMs: runStartTime.getTime(),
              endMs: Date.now(),
              outcome,
            });
          const done = next(input);
          done.then(
            () => report('completed'),
            (error: unknown) => report(outcomeOf(error)),
          );
          return done;
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(traced(input)),
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

function textOf(payload: Payload | undefined): string {
  return payload ? String(defaultPayloadConverter.fromPayload(payload)) : '';
}

/** Returns the span id for a run id: the second half of the UUID, which is random in every version. */
function spanIdOf(runId: string): string {
  return runId.replaceAll('-', '').slice(16);
}
