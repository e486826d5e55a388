import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { fieldSpan } from '../../domain/common/json-spans.ts';
import { isOwnOrigin } from '../../security/sessions.ts';
import { admit, charge, goneSignal, withBody, type Gate } from '../http/admit.ts';
import { unauthenticated } from '../http/authentication.ts';
import { readText } from '../http/body.ts';
import type { Caller } from '../http/caller.ts';
import { asProblem, logFailure } from '../http/error-responses.ts';
import { createInvoke } from '../http/invoke.ts';
import { Problem, problemBody } from '../http/problem.ts';
import type { RequestState } from '../http/request-state.ts';
import type { Route, RouteResponse } from '../http/route.ts';
import type { TaskLimits } from '../tasks/task-limits.ts';
import type { Exchange } from './exchange.ts';
import { messagesOf, type TraceMessage } from './message-traces.ts';
import type { FeedDependencies } from './subscriptions.ts';
import { challengeHeaders } from './resource-metadata.ts';
import type { McpRequest } from './mcp-request.ts';

const PATH = '/mcp';
/** The endpoint as the limits see it. Each tool has the access rule of its route. */
const ENDPOINT = { access: { kind: 'credential', scope: null } } as const;
/** Headers that the protocol defines. Others, such as credentials, are not passed to its implementation. */
const PROTOCOL_HEADERS = /^(accept|content-type|last-event-id|mcp-.+)$/;
/** Server error in JSON-RPC; used for requests that are refused before they are read as messages. */
const REFUSED = -32_000;
/** A batch of messages, which none of the served versions has. */
const INVALID_REQUEST = -32_600;
const METHODS = 'OPTIONS, POST';

type Dependencies = Gate &
  FeedDependencies & {
    routes: readonly Route[];
    limits: Pick<TaskLimits, 'streams'>;
    baseUrl: string;
    tokenIssuer: string | null;
    log: Logger;
    stopping: AbortSignal;
    onResponse?: ((route: Route, answer: RouteResponse) => void) | undefined;
    traceMessage?: TraceMessage | undefined;
  };

/** The implementation. */
type Loading = { load: () => Promise<Exchange> };

/** A body: its text, and its value if it is JSON. */
type Body = { text: string; value: unknown };

/** Creates the endpoint of the Model Context Protocol, streamable HTTP without sessions. */
export function createMcpEndpoint(deps: Dependencies): Middleware {
  // Loaded for the first caller: a service that nobody calls over this protocol does not need the memory.
  let loaded: Promise<Exchange> | null = null;
  const load = () => (loaded ??= loadExchange(deps));
  return async function serveMcp(context, next) {
    if (context.path !== PATH) return await next();
    (context.state as RequestState).route = PATH;
    try {
      await serve({ ...deps, load }, context);
    } catch (error) {
      refuse(deps, context, asProblem(error));
    }
  };
}

async function loadExchange(deps: Dependencies): Promise<Exchange> {
  const { createExchange } = await import('./exchange.ts');
  return createExchange(deps.routes, deps.log, deps);
}

async function serve(deps: Dependencies & Loading, context: Context): Promise<void> {
  checkOrigin(deps.baseUrl, context);
  if (context.method === 'OPTIONS') {
    context.set('Allow', METHODS);
    context.status = 204;
    return;
  }
  if (context.method !== 'POST') {
    throw new Problem('method_not_allowed', `Allowed methods: ${METHODS}.`, { headers: { Allow: METHODS } });
  }
  const admitted = await admit(deps, ENDPOINT, context);
  if (admitted === null || admitted.kind === 'person')
    throw unauthenticated('Send an API key in X-API-Key, or a token in Authorization: Bearer.');
  const { caller, body } = await withBody(
    deps,
    ENDPOINT,
    { context, caller: admitted },
    async () => await readBody(context),
  );
  if (Array.isArray(body?.value)) {
    const problem = new Problem(
      'bad_request',
      'Send one message in each request. Batches are not supported.',
    );
    return refuse(deps, context, problem, INVALID_REQUEST);
  }
  const mcpRequest = mcpRequestOf(deps, context, caller, body);
  const exchange = await deps.load();
  const answer = await exchange(mcpRequest, requestOf(deps.baseUrl, context, body), body?.value);
  // In earlier versions, every response is a stream. It ends with the result.
  const { method } = (body?.value ?? {}) as { method?: unknown };
  const isLasting = method === 'subscriptions/listen';
  await send(context, answer, (open) => (isLasting ? deps.limits.streams.counted(caller, open) : open()));
}

/** @throws Problem `forbidden` for a request from a page of another origin, which the protocol requires */
function checkOrigin(baseUrl: string, { headers }: Context): void {
  if (headers.origin === undefined || isOwnOrigin(baseUrl, headers.origin)) return;
  throw new Problem('forbidden', 'Pages of other origins cannot use this endpoint (header Origin).');
}

async function readBody(context: Context): Promise<Body | undefined> {
  const body = await readText(context);
  if (body === undefined) return undefined;
  try {
    return { text: body.text, value: JSON.parse(body.text) };
  } catch {
    // The protocol's implementation responds with its own error.
    return { text: body.text, value: undefined };
  }
}

function mcpRequestOf(
  deps: Dependencies,
  context: Context,
  caller: Caller,
  body: Body | undefined,
): McpRequest {
  const signal = AbortSignal.any([goneSignal(context), deps.stopping]);
  return {
    caller,
    invoke: createInvoke(deps, context, { caller, signal }),
    traced: messagesOf(deps.traceMessage, context.state),
    signal,
    charge: (count) => charge(deps, { cost: () => count }, context, { caller, body: undefined }),
    requestId: (context.state as RequestState).requestId,
    log: deps.log,
    argumentsText: (id) => argumentsText(body, id),
  };
}

/** Returns the arguments as they were sent, so that numbers and the order of fields stay as they are. */
function argumentsText(body: Body | undefined, id: string | number): string | null {
  const { id: own, params } = (body?.value ?? {}) as { id?: unknown; params?: { arguments?: unknown } };
  if (body === undefined || own !== id || params?.arguments === undefined) return null;
  const within = fieldSpan(body.text, 'params');
  const span = within && fieldSpan(body.text, 'arguments', within.start);
  return span && body.text.slice(span.start, span.end);
}

function requestOf(baseUrl: string, context: Context, body: Body | undefined): Request {
  const headers = Object.entries(context.headers).filter(([name]) => PROTOCOL_HEADERS.test(name));
  return new Request(`${baseUrl}${PATH}`, {
    method: context.method,
    headers: headers.map(([name, value]) => [name, String(value)]),
    signal: goneSignal(context),
    ...(body ? { body: body.text } : {}),
  });
}

async function send(
  context: Context,
  answer: Response,
  counted: (open: () => Readable) => Readable,
): Promise<void> {
  context.status = answer.status;
  context.set(Object.fromEntries(answer.headers));
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (isStream && answer.body) {
    const { body } = answer;
    try {
      context.body = counted(() => Readable.fromWeb(body));
    } catch (error) {
      await body.cancel();
      throw error;
    }
    return;
  }
  const bytes = Buffer.from(await answer.arrayBuffer());
  context.body = bytes.length > 0 ? bytes : null;
  context.status = answer.status;
  const type = answer.headers.get('content-type');
  if (type !== null) context.type = type;
}

/** Responds to a request that is refused before its messages are read, with the problem as data of the error. */
function refuse(deps: Dependencies, context: Context, problem: Problem, code = REFUSED): void {
  const { requestId } = context.state as RequestState;
  logFailure(deps.log, problem, requestId);
  const data = problemBody(problem, context.path, requestId);
  context.status = problem.status;
  context.set({ ...challengeHeaders(deps, problem), 'Cache-Control': 'no-store' });
  context.body = JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code, message: problem.message, data },
  });
  context.type = 'application/json';
}
