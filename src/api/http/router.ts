import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import { admit, charge, goneSignal, respond, withBody, type Gate } from './admit.ts';
import { readJson, type JsonBody } from './body.ts';
import type { Caller } from './caller.ts';
import { bodyText } from './json-text.ts';
import { notFound, Problem } from './problem.ts';
import type { RequestState } from './request-state.ts';
import { isNegotiated, type RouteResponse, type Call, type Route } from './route.ts';
import { unknownParameter, validated } from './validation.ts';

type Dependencies = Gate & {
  routes: readonly Route[];
  /** Aborted on shutdown. Ends waiting and streaming requests. */
  stopping: AbortSignal;
  /** Called with each response of a route, so that tests can compare it with the declaration. */
  onResponse?: ((route: Route, answer: RouteResponse) => void) | undefined;
};

/** Creates middleware from routes. Each request is admitted, validated, handled and answered. */
export function createRouter(deps: Dependencies): { routes: Middleware; fallback: Middleware } {
  const router = new Router({ sensitive: true, strict: true });
  const literal = deps.routes.filter(({ params }) => !params);
  const fixed = new Set(literal.map(({ path }) => path));
  for (const route of deps.routes) {
    router[route.method](koaPath(route.path), async (context: Context, next: Next) => {
      // A path that is declared literally never matches a route with parameters.
      if (route.params && fixed.has(context.path)) return await next();
      await handle(deps, route, context);
    });
  }
  // The router compares a path with all routes, which takes longer than the rest of a small request.
  const direct = new Map(literal.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]));
  const others = router.routes() as Middleware;
  return {
    routes(context, next) {
      const route = direct.get(`${context.method} ${context.path}`);
      return route ? handle(deps, route, context) : others(context, next);
    },
    fallback: fallbackOf(router, fixed),
  };
}

/** Admits and validates a request, and sends the response of its route. */
async function handle(deps: Dependencies, route: Route, context: Context): Promise<void> {
  (context.state as RequestState).route = route.path;
  const caller = await admit(deps, route, context);
  const call = await callOf(deps, route, context, caller);
  charge(deps, route, context, call);
  const { method, path } = context;
  const key = context.headers['idempotency-key'];
  const answer = await respond(deps, route, { method, path, key }, call);
  deps.onResponse?.(route, answer);
  send(context, call, answer);
}

async function callOf(
  deps: Dependencies,
  route: Route,
  context: Context,
  admitted: Caller | null,
): Promise<Call> {
  const mediaType = negotiate(route, context);
  const params = route.params?.safeParse(context['params']);
  if (params && !params.success) throw notFound(route.tag);
  const query = route.query && validated(route.query, queryOf(context), 'query');
  const { caller, body: given } = await withBody(deps, route, { context, caller: admitted }, async () =>
    route.body ? await readJson(context, mediaTypesOf(route)) : undefined,
  );
  return {
    params: params?.data,
    query,
    body: route.body && bodyOf(route, given),
    text: given?.text ?? '',
    caller,
    headers: context.headers,
    address: context.ip,
    requestId: (context.state as RequestState).requestId,
    traceparent: (context.state as RequestState).trace?.traceparent ?? null,
    mediaType,
    // No getter: V8 would make a new class of objects for each request.
    signal: () => AbortSignal.any([goneSignal(context), deps.stopping]),
    claim: null,
  };
}

function mediaTypesOf(route: Route): string[] {
  return ['application/json', ...Object.keys(route.otherBodies ?? {})];
}

function bodyOf(route: Route, given: JsonBody | undefined): unknown {
  if (given === undefined && route.bodyOptional) return undefined;
  if (given === undefined) throw new Problem('malformed_json', 'The body is empty.');
  const schema = route.otherBodies?.[given.mediaType] ?? route.body;
  return validated(schema as NonNullable<Route['body']>, given.value, 'body');
}

function send(context: Context, call: Call, answer: RouteResponse): void {
  context.status = answer.status;
  context.set(answer.headers ?? {});
  if (answer.stream) {
    if (!answer.headers?.['Content-Type']) context.type = call.mediaType;
    if (context.method === 'HEAD') answer.stream.destroy();
    context.body = answer.stream;
  } else if (answer.body !== undefined) {
    // Before the body, or Koa would guess a type.
    context.type = call.mediaType;
    context.body = typeof answer.body === 'string' ? answer.body : bodyText(answer.body);
  } else {
    context.body = null;
    context.status = answer.status;
  }
}

function negotiate(route: Route, context: Context): string {
  const offered = route.mediaTypes ?? ['application/json'];
  if (!isNegotiated(route)) return 'application/json';
  const accepted = context.headers.accept;
  const chosen =
    accepted === undefined || accepted === '*/*' ? (offered[0] ?? false) : context.accepts([...offered]);
  if (chosen === false) throw new Problem('not_acceptable', `Available media types: ${offered.join(', ')}.`);
  return chosen;
}

/**
 * Returns the query parameters. A repeated parameter is a list.
 * @throws Problem `bad_request` for `__proto__`
 */
function queryOf(context: Context): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  // In one pass: anybody can send thousands of parameters.
  for (const [name, value] of new URLSearchParams(context.querystring)) {
    // A schema that accepts further parameters omits this one without an issue.
    if (name === '__proto__') throw unknownParameter(name);
    const earlier = query[name];
    if (Array.isArray(earlier)) earlier.push(value);
    else query[name] = earlier === undefined ? value : [earlier, value];
  }
  return query;
}

/** Responds to unmatched requests: 405 with `Allow` if the path exists, otherwise 404. */
function fallbackOf(router: Router, fixed: ReadonlySet<string>): Middleware {
  return async function respondUnrouted(context) {
    const { path } = context;
    const fitting = router.match(path, context.method).path;
    const layers = fixed.has(path) ? fitting.filter((layer) => layer.path === path) : fitting;
    const methods = layers.flatMap((layer) => layer.methods);
    if (methods.length === 0) throw new Problem('not_found', 'No such endpoint.');
    const allow = [...new Set(methods), 'OPTIONS'].toSorted().join(', ');
    if (context.method !== 'OPTIONS') {
      throw new Problem('method_not_allowed', `Allowed methods: ${allow}.`, { headers: { Allow: allow } });
    }
    context.set('Allow', allow);
    context.status = 204;
  };
}

function koaPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
