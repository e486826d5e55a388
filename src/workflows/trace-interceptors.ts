import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  isCancellation,
  proxySinks,
  workflowInfo,
  type Headers,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

/*
 * Carries traces through workflows, in the bundle of those who keep traces. It must never change what workflow code does
 * when: histories that were begun without it are replayed with it, and the other way round. So every call goes on in the
 * same breath, without an await of its own, nothing is drawn at random, and nothing but headers is added to commands.
 */

/** The header of Temporal under which a `traceparent` travels. */
export const TRACE_HEADER = 'traceparent';

/** What a workflow tells of itself when it has ended. Times in milliseconds since 1970. */
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

/** Made anew for each workflow. */
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
          const tell = (outcome: WorkflowSpan['outcome']) =>
            traces.ended({
              parent,
              traceparent,
              startMs: runStartTime.getTime(),
              endMs: Date.now(),
              outcome,
            });
          const done = next(input);
          done.then(
            () => tell('completed'),
            (error: unknown) => tell(isCancellation(error) ? 'cancelled' : 'failed'),
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

function textOf(payload: Payload | undefined): string {
  return payload ? String(defaultPayloadConverter.fromPayload(payload)) : '';
}

/** A run's id is a UUID; the half of it that is random, whichever version, is the id of its span. */
function spanIdOf(runId: string): string {
  return runId.replaceAll('-', '').slice(16);
}
