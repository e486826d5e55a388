import { z } from 'zod';
import { createDocument, type ZodOpenApiObject } from 'zod-openapi';
import { FIELD_PROBLEMS, PROBLEMS, type ProblemCode } from '../../domain/common/problem-codes.ts';
import { callbackSchema } from '../../domain/tasks/callback-schema.ts';
import { eventComponents } from '../../domain/webhooks/event-documents.ts';
import { rehearsalSchema } from '../../domain/tasks/rehearsal.ts';
import { IDEMPOTENCY_KEY } from '../../domain/common/idempotency.ts';
import { isNegotiated, type DeclaredResponse, type Route } from './route.ts';
import { sentRequests } from './sent-requests.ts';

const problem = z
  .object({
    type: z.string().describe('URI reference to the description of the code'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('Path of the request'),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
    request_id: z.string(),
    errors: z
      .array(
        z.object({
          pointer: z.string().optional().describe('JSON Pointer into the body'),
          parameter: z.string().optional().describe('Name of a query parameter'),
          code: z.enum(FIELD_PROBLEMS),
          message: z.string(),
        }),
      )
      .optional(),
  })
  .meta({ id: 'Problem' });

const SECURITY = {
  public: [],
  credential: [{ apiKey: [] }, { token: [] }, { session: [] }],
  person: [{ session: [] }],
} as const;

const idempotencyHeader = z.strictObject({
  'Idempotency-Key': z
    .string()
    .regex(IDEMPOTENCY_KEY)
    .optional()
    .describe('The same key and body return the first response again, for 24 hours'),
});

/** Returns the OpenAPI 3.1 document of the routes, generated from the schemas that validate their requests. */
export function openApiDocument(routes: readonly Route[], baseUrl: string) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method]: operationOf(route) });
  }
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Baton',
      version: '1',
      description: 'Submit tasks, let agents work on them as durable workflows, and receive signed results.',
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(routes.map((route) => route.tag)), 'sent'].map((name) => ({ name })),
    paths,
    webhooks: sentRequests(),
    components: {
      schemas: {
        Problem: problem,
        Rehearsal: jsonSchemaOf(rehearsalSchema),
        TaskCallback: jsonSchemaOf(callbackSchema),
        ...eventComponents(),
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        session: { type: 'apiKey', in: 'cookie', name: 'baton_session' },
      },
    },
  };
  return createDocument(document as unknown as ZodOpenApiObject, { override: allowMoreInResponses });
}

/** Responses may get further fields, so the schemas of responses must not forbid them. Requests with unknown fields are refused. */
export function allowMoreInResponses({
  jsonSchema,
  io,
}: {
  jsonSchema: object;
  io: 'input' | 'output';
}): void {
  const schema = jsonSchema as { additionalProperties?: unknown };
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
}

/** Returns the schema of values that a request contains, or that the service sends. */
function jsonSchemaOf(schema: z.ZodType): object {
  const { $schema: _, $defs = {}, ...inline } = z.toJSONSchema(schema, { io: 'input' });
  // A schema with an id is a separate definition.
  return Object.values($defs)[0] ?? inline;
}

function operationOf(route: Route) {
  const header = headersOf(route);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    security: SECURITY[route.access.kind],
    requestParams: {
      ...(route.params ? { path: route.params } : {}),
      ...(route.query ? { query: route.query } : {}),
      ...(header ? { header } : {}),
    },
    ...(route.body
      ? {
          requestBody: {
            required: !route.bodyOptional,
            content: Object.fromEntries(
              Object.entries({ 'application/json': route.body, ...route.otherBodies }).map(
                ([type, schema]) => [type, { schema }],
              ),
            ),
          },
        }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, answer]) => [status, responseOf(answer)]),
      ),
      ...problemsOf(route),
    },
  };
}

function headersOf(route: Route): z.ZodObject | undefined {
  if (!route.idempotent) return route.headers;
  return route.headers ? route.headers.extend(idempotencyHeader.shape) : idempotencyHeader;
}

function responseOf(answer: DeclaredResponse) {
  const types = answer.mediaTypes ?? ['application/json'];
  const text = { type: 'string' };
  const content = types.map(
    (type) => [type, { schema: type === 'application/json' ? answer.schema : text }] as const,
  );
  const headers = Object.entries(answer.headers ?? {}).map(
    ([name, description]) => [name, { description, schema: text }] as const,
  );
  return {
    description: answer.description,
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}),
    ...(answer.schema || answer.mediaTypes ? { content: Object.fromEntries(content) } : {}),
  };
}

/** Returns the problems of a route by status. Codes with the same status share one response. */
function problemsOf(route: Route) {
  const codes = new Set<ProblemCode>([...(route.problems ?? []), 'unavailable']);
  if (isNegotiated(route)) codes.add('not_acceptable');
  if (route.access.kind !== 'public') codes.add('unauthenticated').add('forbidden');
  if (route.limit !== 'none') codes.add('rate_limited');
  if (route.params) codes.add('not_found');
  if (route.query || route.idempotent) codes.add('bad_request');
  if (route.idempotent) codes.add('conflict').add('idempotency_key_reused');
  if (route.body) {
    for (const code of [
      'malformed_json',
      'payload_too_large',
      'unsupported_media_type',
      'validation_failed',
    ] as const) {
      codes.add(code);
    }
  }
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  const answers = [...byStatus]
    .filter(([status]) => !(status in route.responses))
    .map(([status, names]) => {
      const description = names.map((name) => `\`${name}\`: ${PROBLEMS[name].title}`).join('; ');
      return [status, { description, content: { 'application/problem+json': { schema: problem } } }] as const;
    });
  return Object.fromEntries(answers);
}
