import { AsyncLocalStorage } from 'node:async_hooks';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { parseTraceparent, traceparentOf, type TraceContext } from './trace-context.ts';

/*
 * OpenTelemetry spans, sent by OTLP. Only loaded if tracing is on. Of an error, only the name of its kind is
 * recorded: messages quote callers, receivers and models.
 */

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
} as const;

/** What records the spans; with the version of OpenTelemetry's semantic conventions that names of attributes follow. */
const SCOPE = { name: 'baton', schemaUrl: 'https://opentelemetry.io/schemas/1.41.0' };

export type SpanPlan = {
  name: string;
  kind: keyof typeof KINDS;
  attributes?: Attributes;
  /** The `traceparent` of a remote parent, in place of the active span, which the span then links to. */
  parent?: string | undefined;
};

/** A started span. */
export type OpenSpan = {
  traceId: string;
  traceparent: string;
  set(attributes: Attributes): void;
  /** Renames the span. */
  name(name: string): void;
  /** Ends the span; `failure` is the kind of the failure, null on success. */
  end(failure: string | null): void;
};

/** A finished span with its own id, reported by a workflow. Times in milliseconds since 1970. */
export type EndedSpan = {
  name: string;
  parent: string;
  traceparent: string;
  startMs: number;
  endMs: number;
  failure: string | null;
  attributes: Attributes;
};

export type Tracing = {
  /** Starts a span that the caller ends. It does not become the active span. */
  begin(plan: SpanPlan): OpenSpan;
  /** Runs the work in a span. An error ends the span as failed. */
  span<T>(plan: SpanPlan, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /**
   * Runs the work in the trace of `traceparent`. If it is null or the active trace, nothing changes. Otherwise the
   * spans of the work link to the active span.
   */
  within<T>(traceparent: string | null, work: () => T): T;
  /** Returns the active context; null if there is none. */
  current(): TraceContext | null;
  /** Returns the active context as a `traceparent`; null if there is none. */
  traceparent(): string | null;
  recordEnded(span: EndedSpan): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
};

type ActiveContext = { at: SpanContext; link: SpanContext | null };

/**
 * Starts to send spans, configured by the standard variables (OTEL_EXPORTER_OTLP_…, OTEL_TRACES_SAMPLER,
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_…). `onError` is called when spans are lost.
 */
export function createTracing(
  process: { name: string; version: string },
  onError: (message: string) => void,
): Tracing {
  const report = (message: string) => onError(message);
  const silent = () => {};
  diag.setLogger(
    { error: report, warn: report, info: silent, debug: silent, verbose: silent },
    DiagLogLevel.WARN,
  );
  const resource = resourceFromAttributes({
    'service.name': `baton-${process.name}`,
    'service.version': process.version,
  }).merge(detectResources({ detectors: [envDetector] }));
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  const tracer = provider.getTracer(SCOPE.name, undefined, { schemaUrl: SCOPE.schemaUrl });
  const active = new AsyncLocalStorage<ActiveContext>();

  function begin({ name, kind, attributes = {}, parent }: SpanPlan): Span {
    const now = active.getStore();
    const given = parent === undefined ? null : parseTraceparent(parent);
    const at = given ? remote(given) : (now?.at ?? null);
    const linked = [now?.link, given && now?.at].filter((one) => one !== null && one !== undefined);
    const links = linked.map((one) => ({ context: one }));
    const context = at === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, at);
    return tracer.startSpan(name, { kind: KINDS[kind], attributes, links }, context);
  }

  return {
    begin: (plan) => opened(begin(plan)),
    async span(plan, work) {
      const span = begin(plan);
      const open = opened(span);
      return await active.run({ at: span.spanContext(), link: null }, async () => {
        try {
          const result = await work(open);
          open.end(null);
          return result;
        } catch (error) {
          open.end(kindOf(error));
          throw error;
        }
      });
    },
    within(traceparent, work) {
      const given = parseTraceparent(traceparent);
      const now = active.getStore();
      if (given === null || given.traceId === now?.at.traceId) return work();
      return active.run({ at: remote(given), link: now?.at ?? null }, work);
    },
    current() {
      const now = active.getStore();
      return now ? contextOf(now.at) : null;
    },
    traceparent() {
      const now = active.getStore();
      return now ? traceparentOf(contextOf(now.at)) : null;
    },
    recordEnded: (span) => exportEnded(processor, resource, span),
    async close() {
      await provider.shutdown();
      diag.disable();
    },
  };
}

function opened(span: Span): OpenSpan {
  const context = contextOf(span.spanContext());
  let isEnded = false;
  return {
    traceId: context.traceId,
    traceparent: traceparentOf(context),
    set: (attributes) => void span.setAttributes(attributes),
    name: (name) => void span.updateName(name),
    end(failure) {
      if (isEnded) return;
      isEnded = true;
      if (failure !== null) {
        span.setAttribute('error.type', failure);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** Returns the kind of an error, without its message. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // Temporal failures have a type that is more specific than their class.
  const { type } = error as { type?: unknown };
  return typeof type === 'string' && type !== '' ? type : error.name;
}

function contextOf({ traceId, spanId, traceFlags }: SpanContext): TraceContext {
  return { traceId, spanId, flags: traceFlags.toString(16).padStart(2, '0') };
}

function remote({ traceId, spanId, flags }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

function exportEnded(processor: SpanProcessor, resource: Resource, span: EndedSpan): void {
  const at = parseTraceparent(span.traceparent);
  const parent = parseTraceparent(span.parent);
  if (at === null || parent === null) return;
  const readable: ReadableSpan = {
    name: span.name,
    kind: SpanKind.INTERNAL,
    spanContext: () => remote(at),
    parentSpanContext: remote(parent),
    startTime: highResolution(span.startMs),
    endTime: highResolution(span.endMs),
    duration: highResolution(span.endMs - span.startMs),
    status: { code: span.failure === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: { ...span.attributes, ...(span.failure === null ? {} : { 'error.type': span.failure }) },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  processor.onEnd(readable);
}

/** Returns seconds and nanoseconds. */
function highResolution(ms: number): [number, number] {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
}
