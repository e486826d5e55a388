import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { A2A_CONTENT_TYPE, A2A_VERSION_HEADER, AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk';
import { A2A_ERROR_CODE, A2AError, RequestMalformedError } from '@a2a-js/sdk/errors';
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server';
import type { Context, Middleware } from 'koa';
import { admit, authorize, goneSignal, withBody, type Gate } from '../http/admit.ts';
import { readJson } from '../http/body.ts';
import { truncate } from '../../domain/common/text.ts';
import type { Caller } from '../http/caller.ts';
import { asProblem, logFailure } from '../http/error-responses.ts';
import { Problem } from '../http/problem.ts';
import type { RequestState } from '../http/request-state.ts';
import { A2A_PATH, agentCard, extendedCard } from './card.ts';
import { asProtocolError, jsonRpcErrorOf, jsonRpcStatusOf, restErrorOf } from './errors.ts';
import { eventStreamOf, type StreamItem } from './event-stream.ts';
import { createRequestHandler, type A2aDependencies } from './handler.ts';
import { isMethod, matchRest, METHODS, paramsOfQuery, type MethodCall } from './methods.ts';
import { checkedParams } from './params.ts';

export type A2aServerDependencies = A2aDependencies & Gate;

/** The result of a method as ProtoJSON: one value, or a stream of them. */
type Result = { kind: 'value'; value: unknown } | { kind: 'stream'; items: AsyncGenerator<StreamItem> };

type Binding = 'JSONRPC' | 'HTTP+JSON';
/** Both bindings as the limits see them. Each method has its own scope. */
const ENDPOINT = { access: { kind: 'credential', scope: null } } as const;
const CARD_PATH = `/${AGENT_CARD_PATH}`;
const MEDIA_TYPES = ['application/json', A2A_CONTENT_TYPE];
/** `Accept` is not checked: both bindings have one media type for responses, and one for streams. */
const STREAM_TYPE = 'text/event-stream';

/**
 * Serves A2A 1.0: the public agent card, JSON-RPC at `/a2a` and HTTP+JSON below it. Callers, scopes, limits and runs are
 * those of the HTTP API.
 */
export function createA2aServer(deps: A2aServerDependencies): Middleware {
  const options = { baseUrl: deps.baseUrl, version: serviceVersion() };
  const cards = { own: agentCard(options), extended: extendedCard(options, deps.catalogue) };
  const card = JSON.stringify(AgentCard.toJSON(cards.own));
  const cardTag = `"${createHash('sha256').update(card).digest('hex').slice(0, 32)}"`;

  return async function serveA2a(context, next) {
    if (context.path === CARD_PATH) return await serveCard(context);
    // Clients that join paths to the URL of the card end it with a slash.
    if (context.path === A2A_PATH || context.path === `${A2A_PATH}/`) return await serveJsonRpc(context);
    if (context.path.startsWith(`${A2A_PATH}/`)) return await serveRest(context);
    return await next();
  };

  async function serveCard(context: Context): Promise<void> {
    if (context.method !== 'GET' && context.method !== 'HEAD') throw wrongMethod(['GET', 'HEAD']);
    (context.state as RequestState).route = CARD_PATH;
    await admit(deps, { access: { kind: 'public' } }, context);
    context.set('Cache-Control', 'public, max-age=300');
    context.status = 200;
    context.etag = cardTag;
    if (context.fresh) {
      context.status = 304;
      return;
    }
    context.type = 'application/json';
    context.body = card;
  }

  async function serveJsonRpc(context: Context): Promise<void> {
    (context.state as RequestState).route = A2A_PATH;
    let id: unknown = null;
    const enveloped = (rest: object) => ({ jsonrpc: '2.0', id, ...rest });
    try {
      if (context.method !== 'POST') throw wrongMethod(['POST']);
      const admitted = await callerOf(context);
      const { caller, body: given } = await withBody(
        deps,
        ENDPOINT,
        { context, caller: admitted },
        async () => await bodyOf(context, ['application/json']),
      );
      if (!isEnvelope(given)) {
        const error = {
          code: A2A_ERROR_CODE.INVALID_REQUEST,
          message: 'The body is not a JSON-RPC 2.0 request.',
        };
        return respond(context, 200, enveloped({ error }), 'application/json');
      }
      id = given.id ?? null;
      if (!isMethod(given.method)) {
        const message = `There is no method ${truncate(given.method, 100)}.`;
        const error = { code: A2A_ERROR_CODE.METHOD_NOT_FOUND, message };
        return respond(context, 200, enveloped({ error }), 'application/json');
      }
      checkVersion(context, 'JSONRPC');
      const result = await perform(context, caller, { method: given.method, params: given.params as never });
      if (result.kind === 'value')
        return respond(context, 200, enveloped({ result: result.value }), 'application/json');
      const items = mapped(result.items, (data) => enveloped({ result: data }));
      const errorOf = (error: unknown) => enveloped({ error: jsonRpcErrorOf(shown(context, error)) });
      await respondStream(context, caller, items, errorOf);
    } catch (error) {
      const shownError = shown(context, error);
      respond(
        context,
        jsonRpcStatusOf(shownError),
        enveloped({ error: jsonRpcErrorOf(shownError) }),
        'application/json',
      );
    }
  }

  async function serveRest(context: Context): Promise<void> {
    const path = context.path.slice(A2A_PATH.length);
    try {
      const match = matchRest(context.method === 'HEAD' ? 'GET' : context.method, decoded(path));
      (context.state as RequestState).route = `${A2A_PATH}${match.kind === 'found' ? match.template : '/*'}`;
      const admitted = await callerOf(context);
      if (match.kind === 'unknown') throw new Problem('not_found', 'No such operation.');
      if (match.kind === 'wrong_verb') throw wrongMethod(match.allowed);
      checkVersion(context, 'HTTP+JSON');
      const { caller, body: given } = await withBody(
        deps,
        ENDPOINT,
        { context, caller: admitted },
        async () => await givenIn(context),
      );
      const params = { ...given, ...match.params };
      const result = await perform(context, caller, { method: match.method, params });
      if (result.kind === 'value') return respond(context, 200, result.value, restTypeOf(context));
      const errorOf = (error: unknown) => restErrorOf(shown(context, error)).body;
      await respondStream(context, caller, result.items, errorOf);
    } catch (error) {
      const { status, body } = restErrorOf(shown(context, error));
      respond(context, status, body, restTypeOf(context));
    }
  }

  async function callerOf(context: Context): Promise<Caller> {
    return (await admit(deps, ENDPOINT, context)) as Caller;
  }

  /** @throws A2AError for a request without the version, which means 0.3 */
  function checkVersion(context: Context, binding: Binding): void {
    const version = context.get(A2A_VERSION_HEADER) || String(context.query[A2A_VERSION_HEADER] ?? '');
    validateVersion(version || '0.3', cards.own, binding);
  }

  /** Performs a method with the SDK. Both bindings use its JSON-RPC handler, whose results are ProtoJSON. */
  async function perform(
    context: Context,
    caller: Caller,
    { method, params: given }: MethodCall,
  ): Promise<Result> {
    authorize({ access: { kind: 'credential', scope: METHODS[method] } }, caller);
    const params = checkedParams(method, given) as MethodCall['params'];
    let failure: Error | undefined;
    const call = {
      caller,
      signal: AbortSignal.any([goneSignal(context), deps.stopping]),
      lastEventId: lastEventIdOf(context),
      onError: (error: Error) => void (failure = error),
    };
    const handler = new JsonRpcTransportHandler(createRequestHandler(deps, call, cards));
    const request = { jsonrpc: '2.0', id: 1, method, params };
    const response = await handler.handle(request, new ServerCallContext({ requestedVersion: '1.0' }));
    if (Symbol.asyncIterator in response) return { kind: 'stream', items: itemsOf(response) };
    if (response.error === undefined) return { kind: 'value', value: response.result ?? {} };
    throw failure ?? new RequestMalformedError((response.error as { message: string }).message);
  }

  async function respondStream(
    context: Context,
    caller: Caller,
    items: AsyncGenerator<StreamItem>,
    errorOf: (error: unknown) => unknown,
  ): Promise<void> {
    const { streams: limit } = deps.limits;
    const stream: Readable = await eventStreamOf(items, { limit, caller, errorOf });
    context.status = 200;
    context.type = STREAM_TYPE;
    context.set('X-Accel-Buffering', 'no');
    context.body = stream;
  }

  /** Returns an error as the caller sees it: one of the protocol, or a problem. Sets the headers of a problem. */
  function shown(context: Context, error: unknown): A2AError | Problem {
    if (error instanceof A2AError) return error;
    const problem = asProblem(error);
    logFailure(deps.log, problem, (context.state as RequestState).requestId);
    if (!context.headerSent) context.set(problem.headers);
    return problem;
  }
}

/** Returns the media type of a response over HTTP+JSON: the protocol's own for clients that use it (A2A 1.0, section 14.1). */
function restTypeOf(context: Context): string {
  const used = `${context.get('Accept')},${context.get('Content-Type')}`;
  return used.toLowerCase().includes(A2A_CONTENT_TYPE) ? A2A_CONTENT_TYPE : 'application/json';
}

function respond(context: Context, status: number, body: unknown, type: string): void {
  context.status = status;
  context.type = type;
  context.body = JSON.stringify(body);
}

function isEnvelope(
  given: unknown,
): given is { id?: string | number | null; method: string; params?: unknown } {
  if (typeof given !== 'object' || given === null) return false;
  const { jsonrpc, id = null, method } = given as Record<string, unknown>;
  const isId = id === null || typeof id === 'string' || Number.isInteger(id);
  return jsonrpc === '2.0' && typeof method === 'string' && isId;
}

async function bodyOf(context: Context, mediaTypes: readonly string[]): Promise<unknown> {
  try {
    return (await readJson(context, mediaTypes))?.value;
  } catch (error) {
    throw asProtocolError(error);
  }
}

/** Returns the parameters in the query and in the body. */
async function givenIn(context: Context): Promise<Record<string, unknown>> {
  const query = new URLSearchParams(context.querystring);
  query.delete(A2A_VERSION_HEADER);
  const given = context.method === 'POST' ? await bodyOf(context, MEDIA_TYPES) : undefined;
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
    throw new RequestMalformedError('The body must be an object.');
  return { ...paramsOfQuery(query), ...given };
}

/** Returns the responses of the SDK's stream, each with its position in the feed. */
async function* itemsOf(
  responses: AsyncGenerator<{ result?: unknown }, void, undefined>,
): AsyncGenerator<StreamItem> {
  for await (const { result } of responses) yield { data: result, id: positionOf(result) };
}

function positionOf(result: unknown): number | null {
  const { task, statusUpdate } = result as Record<string, { metadata?: Record<string, unknown> } | undefined>;
  const position = statusUpdate?.metadata?.['seq'];
  // A client that resumes has not received the events up to the position of the task.
  return task === undefined && typeof position === 'number' ? position : null;
}

async function* mapped(
  items: AsyncGenerator<StreamItem>,
  change: (data: unknown) => unknown,
): AsyncGenerator<StreamItem> {
  for await (const { data, id } of items) yield { data: change(data), id };
}

function lastEventIdOf(context: Context): number | null {
  const given = /^\d{1,9}$/.exec(context.get('Last-Event-ID'))?.[0];
  return given === undefined ? null : Number(given);
}

function wrongMethod(allowed: string[]): Problem {
  const allow = allowed.join(', ');
  return new Problem('method_not_allowed', `Allowed methods: ${allow}.`, { headers: { Allow: allow } });
}

/** Clients may encode the colon before a verb. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function serviceVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
