import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** A received span; ids are hexadecimal, `of` is the name of the process that sent it. */
export type CollectedSpan = {
  of: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  failed: boolean;
};

/** A receiver of OTLP over HTTP. */
export type Collector = {
  url: string;
  spans: readonly CollectedSpan[];
  /** Returns all received bytes, for searches. */
  bytes(): Buffer;
  close(): Promise<void>;
};

/** The required parts of opentelemetry-proto 1: collector/trace/v1 and trace/v1. */
const PROTO = `
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; Kind kind = 6;
    repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  enum Kind { UNSPECIFIED = 0; INTERNAL = 1; SERVER = 2; CLIENT = 3; PRODUCER = 4; CONSUMER = 5; }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; Values array_value = 5;
    }
  }
  message Values { repeated AnyValue values = 1; }
`;
const Request = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');

/** One of the fields of AnyValue. */
type AnyValue = Record<string, unknown>;
type Pairs = { key: string; value: AnyValue }[];
type Decoded = {
  resourceSpans?: {
    resource?: { attributes?: Pairs };
    scopeSpans?: {
      spans?: {
        traceId: Buffer;
        spanId: Buffer;
        parentSpanId?: Buffer;
        name: string;
        kind: string;
        attributes?: Pairs;
        links?: { traceId: Buffer; spanId: Buffer }[];
        status?: { code?: number };
      }[];
    }[];
  }[];
};

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const received: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      received.push(body);
      spans.push(...spansOf(body));
      response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bytes: () => Buffer.concat(received),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansOf(body: Buffer): CollectedSpan[] {
  const decoded = Request.toObject(Request.decode(body), { enums: String, longs: Number }) as Decoded;
  return (decoded.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) => {
    const of = String(valuesOf(resource?.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        of,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        attributes: valuesOf(span.attributes),
        links: (span.links ?? []).map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
        failed: span.status?.code === 2,
      })),
    );
  });
}

function valuesOf(pairs: Pairs = []): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(any: AnyValue): unknown {
  const { values } = (any['arrayValue'] ?? {}) as { values?: AnyValue[] };
  return values ? values.map(plainValue) : Object.values(any)[0];
}

function hex(bytes: Buffer | undefined): string {
  return bytes ? Buffer.from(bytes).toString('hex') : '';
}
