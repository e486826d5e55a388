import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import { hasRole } from '../../domain/people/access.ts';
import { networkOf } from './client-address.ts';
import { unauthenticated, type Authenticate } from './authentication.ts';
import { readJson, type JsonBody } from './body.ts';
import type { Caller } from './caller.ts';
import type { Idempotency } from './idempotency.ts';
import { bodyText } from './json-text.ts';
import { notFound, Problem } from './problem.ts';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import { spend } from './rate-limit.ts';
import type { RequestState } from './request-state.ts';
import { isNegotiated, type RouteResponse, type Call, type Route } from './route.ts';
import { validated } from './validation.ts';

type Dependencies = {
  routes: readonly Route[];
  authenticate: Authenticate;
  idempotency: Idempotency;
  limiters: { credential: RateLimiter; events: RateLimiter; address: RateLimiter; signIn: RateLimiter };
  /** Aborted on shutdown. Ends waiting and streaming requests. */
  stopping: AbortSignal;
  /** Called with each response of a route, so that tests can compare it with the declaration. */
  onResponse?: ((route: Route, answer: RouteResponse) => void) | undefined;
};

/** Creates middleware from routes. Each request is admitted, validated, handled and answered. */
export function createRouter(deps: Dependencies): { routes: Middleware; fallback: Middleware } {
  const router = new Router({ sensitive: true });
  const fixed = new Set(deps.routes.filter(({ params }) => !params).map(({ path }) => path));
  for (const route of deps.routes) {
    router[route.method](koaPath(route.path), async (context: Context, next: Next) => {
      // A path that is declared literally never matches a route with parameters.
      if (route.params && fixed.has(context.path)) return await next();
      (context.state as RequestState).route = route.path;
      const caller = await admit(deps, route, context);
      const call = await callOf(deps, route, context, caller);
      charge(deps, route, context, call);
      const answer = await respond(deps, route, context, call);
      deps.onResponse?.(route, answer);
      send(context, call, answer);
    });
  }
  return { routes: router.routes() as Middleware, fallback: fallbackOf(router, fixed) };
}

/** Returns the caller, after the rate limits and the access rule of the route are checked. */
async function admit(deps: Dependencies, route: Route, context: Context): Promise<Caller | null> {
  const { limiters } = deps;
  if (route.limit === 'sign_in') spend(context, limiters.signIn, networkOf(context.ip));
  if (route.access.kind === 'public') {
    if (route.limit === undefined) spend(context, limiters.address, networkOf(context.ip));
    return null;
  }
  const caller = await deps.authenticate(context).catch((error: unknown) => {
    // Attempts with invalid credentials are limited by address.
    if (error instanceof Problem && error.code === 'unauthenticated')
      spend(context, limiters.address, networkOf(context.ip));
    throw error;
  });
  if (!caller) {
    spend(context, limiters.address, networkOf(context.ip));
    throw unauthenticated('Send an API key in X-API-Key, or a token in Authorization: Bearer.');
  }
  (context.state as RequestState).caller = caller;
  spend(context, limiterOf(deps, route), spenderOf(caller));
  authorize(route, caller);
  return caller;
}

function limiterOf({ limiters }: Dependencies, route: Route): RateLimiter {
  return route.limit === 'events' ? limiters.events : limiters.credential;
}

function spenderOf(caller: Caller): string {
  return caller.kind === 'person' ? caller.sessionId : caller.actor;
}

/** Takes the cost of a request beyond the one unit that admission took. */
function charge(deps: Dependencies, route: Route, context: Context, { caller, body }: Call): void {
  const more = (route.cost?.(body) ?? 1) - 1;
  if (caller && more > 0) spend(context, limiterOf(deps, route), spenderOf(caller), more);
}

function authorize({ access }: Route, caller: Caller): void {
  if (access.kind === 'credential' && access.scope !== null && !caller.scopes.includes(access.scope)) {
    const lacking = caller.kind === 'person' ? `The role ${caller.role} does not` : 'The credential does not';
    throw new Problem('forbidden', `${lacking} have the required scope ${access.scope}.`);
  }
  if (access.kind !== 'person') return;
  if (caller.kind !== 'person')
    throw new Problem('forbidden', 'Only signed-in users can do this. Keys and tokens cannot.');
  if (!hasRole(caller.role, access.least)) {
    throw new Problem('forbidden', `Requires the role ${access.least} or higher. Yours is ${caller.role}.`);
  }
}

async function callOf(
  deps: Dependencies,
  route: Route,
  context: Context,
  caller: Caller | null,
): Promise<Call> {
  const mediaType = negotiate(route, context);
  const params = route.params?.safeParse(context['params']);
  if (params && !params.success) throw notFound(route.tag);
  const query = route.query && validated(route.query, queryOf(context), 'query');
  const given = route.body && (await readJson(context, mediaTypesOf(route)));
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
    get signal() {
      return signalOf(context, deps.stopping);
    },
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

async function respond(
  deps: Dependencies,
  route: Route,
  context: Context,
  call: Call,
): Promise<RouteResponse> {
  const given = context.headers['idempotency-key'];
  if (!route.idempotent || given === undefined || call.caller === null) return await route.handle(call);
  const wanted = {
    given: String(given),
    method: context.method,
    path: context.path,
    body: call.body,
    caller: call.caller,
  };
  return await deps.idempotency(wanted, (claim) => route.handle({ ...call, claim }));
}

function send(context: Context, call: Call, answer: RouteResponse): void {
  context.status = answer.status;
  context.set(answer.headers ?? {});
  if (answer.stream) {
    if (!answer.headers?.['Content-Type']) context.type = call.mediaType;
    if (context.method === 'HEAD') answer.stream.destroy();
    context.body = answer.stream;
  } else if (answer.body !== undefined) {
    context.body = typeof answer.body === 'string' ? answer.body : bodyText(answer.body);
    context.type = call.mediaType;
  } else {
    context.body = null;
    context.status = answer.status;
  }
}

function negotiate(route: Route, context: Context): string {
  const offered = route.mediaTypes ?? ['application/json'];
  if (!isNegotiated(route)) return 'application/json';
  const chosen = context.accepts([...offered]);
  if (chosen === false) throw new Problem('not_acceptable', `Available media types: ${offered.join(', ')}.`);
  return chosen;
}

/** Returns the query parameters. A repeated parameter is a list. */
function queryOf(context: Context): Record<string, string | string[]> {
  const parameters = new URLSearchParams(context.querystring);
  const query: Record<string, string | string[]> = Object.create(null);
  for (const name of new Set(parameters.keys())) {
    const values = parameters.getAll(name);
    query[name] = values.length === 1 ? (values[0] ?? '') : values;
  }
  return query;
}

function signalOf(context: Context, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  context.res.once('close', () => gone.abort());
  if (context.res.closed) gone.abort();
  return AbortSignal.any([gone.signal, stopping]);
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
