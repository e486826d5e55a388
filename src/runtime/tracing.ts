import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors, ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Context } from '@temporalio/activity';
import { CALL_CONTEXT_OPTION } from '../domain/agents/agent-work.ts';
import { UNTRACED, type Traces } from '../outbound/traces.ts';
import { attributesOfWork } from '../telemetry/gen-ai.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { TRACE_HEADER, type TraceSinks } from '../workflows/trace-interceptors.ts';

/*
 * Traces cover incoming requests, starts of workflows, workflows, activities and outgoing attempts. Without tracing,
 * none of this is installed.
 */

/** Returns interceptors that trace starts of workflows, also by a signal, within an active trace. */
export function clientInterceptors(tracing: Tracing | null): WorkflowClientInterceptor[] {
  if (tracing === null) return [];
  const traced = tracedStart(tracing);
  return [{ startWithDetails: traced, signalWithStart: traced }];
}

type Start = {
  readonly workflowType: string;
  readonly headers: Headers;
  readonly options: { readonly workflowId: string };
};

function tracedStart(tracing: Tracing) {
  return async <Input extends Start, Result>(
    input: Input,
    next: (input: Input) => Promise<Result>,
  ): Promise<Result> => {
    if (tracing.current() === null) return await next(input);
    const attributes = { 'temporal.workflow_id': input.options.workflowId };
    const plan = { name: `start ${input.workflowType}`, kind: 'producer', attributes } as const;
    return await tracing.span(plan, async ({ traceparent }) => {
      const header = defaultPayloadConverter.toPayload(traceparent);
      return await next({ ...input, headers: { ...input.headers, [TRACE_HEADER]: header } });
    });
  };
}

/** Returns parts of a worker's options that record spans of activities, and of workflows when they end. */
export function tracedWorker(tracing: Tracing | null): {
  sinks: InjectedSinks<TraceSinks> | Record<string, never>;
  activity: ActivityInterceptorsFactory[];
} {
  if (tracing === null) return { sinks: {}, activity: [] };
  const sinks: InjectedSinks<TraceSinks> = {
    traces: {
      ended: {
        fn({ workflowType, workflowId, taskQueue }, { outcome, asked, work, ...span }) {
          tracing.recordEnded({
            ...span,
            name: `workflow ${workflowType}`,
            failure: outcome === 'completed' ? (work?.failure ?? null) : outcome,
            attributes: {
              'temporal.workflow_id': workflowId,
              'temporal.task_queue': taskQueue,
              ...(asked ? attributesOfWork({ ...asked, usage: work?.usage ?? null }) : {}),
            },
          });
        },
      },
    },
  };
  return { sinks, activity: [(context) => activityInterceptors(tracing, context)] };
}

function activityInterceptors(tracing: Tracing, { info }: Context): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        const header = input.headers[TRACE_HEADER];
        if (!header) return await next(input);
        const parent = String(defaultPayloadConverter.fromPayload(header));
        const attributes = {
          'temporal.workflow_id': info.workflowExecution?.workflowId ?? '',
          'temporal.activity_attempt': info.attempt,
          ...namesIn(input.args),
        };
        const plan = { name: `activity ${info.activityType}`, kind: 'internal', attributes, parent } as const;
        return await tracing.span(plan, () => next(input));
      },
    },
  };
}

/** Fields of an activity's input that are ids or names in the catalogue. No other fields are recorded. */
const NAMES: Readonly<Record<string, string>> = {
  executionId: 'baton.execution_id',
  stepId: 'baton.step_id',
  groupId: 'baton.group_id',
  deliveryId: 'baton.delivery_id',
  webhookId: 'baton.webhook_id',
  agent: 'baton.agent',
  modelId: 'baton.model',
};
const NAME = /^[\w./:-]{1,200}$/;

function namesIn(args: readonly unknown[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const part of args.flatMap(partsOf)) {
    for (const [member, attribute] of Object.entries(NAMES)) {
      const value = part[member];
      if (typeof value === 'string' && NAME.test(value)) found[attribute] = value;
    }
  }
  return found;
}

/** Returns the input, its step, its place in the record of calls, and the metadata of a model call. */
function partsOf(input: unknown): Record<string, unknown>[] {
  if (!isObject(input)) return [];
  const { options, place, step } = input as {
    options?: { providerOptions?: Record<string, unknown> };
  } & Record<string, unknown>;
  return [input, place, step, ...partsOf(options?.providerOptions?.[CALL_CONTEXT_OPTION])].filter(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns the tracer of outgoing attempts, with a span each and a `traceparent` for the receiver. */
export function outgoingTraces(tracing: Tracing | null): Traces {
  if (tracing === null) return UNTRACED;
  return {
    within: (traceparent, work) => tracing.within(traceparent, work),
    begin({ of, url, attributes }) {
      const address = URL.parse(url);
      const span = tracing.begin({
        name: `POST ${of}`,
        kind: 'client',
        attributes: {
          'http.request.method': 'POST',
          'server.address': address?.hostname ?? '',
          'url.scheme': address?.protocol.replace(':', '') ?? '',
          ...attributes,
        },
      });
      return {
        headers: { traceparent: span.traceparent },
        end(record) {
          if (record?.response) span.set({ 'http.response.status_code': record.response.status });
          span.end(record === null ? 'not_made' : record.failure);
        },
      };
    },
  };
}

/** Returns the active trace id, for each line of the log. */
export function traceOfLine(tracing: Tracing): Record<string, string> {
  const now = tracing.current();
  return now === null ? {} : { trace_id: now.traceId };
}
