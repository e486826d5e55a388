import type { Context } from 'koa';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import { hasRole } from '../../domain/people/access.ts';
import { unauthenticated, type Authenticate } from './authentication.ts';
import type { Caller } from './caller.ts';
import { networkOf } from './client-address.ts';
import type { Idempotency } from './idempotency.ts';
import { Problem } from './problem.ts';
import { spend } from './rate-limit.ts';
import type { RequestState } from './request-state.ts';
import { scopesOf, type Call, type Route, type RouteResponse } from './route.ts';

/** The dependencies of the admission of requests, the same for all protocols. */
export type Gate = {
  authenticate: Authenticate;
  idempotency: Idempotency;
  limiters: { credential: RateLimiter; events: RateLimiter; address: RateLimiter; signIn: RateLimiter };
};

type Charged = Pick<Route, 'access' | 'limit'>;

/** Returns the caller, after the rate limits and the access rule of the route are checked. */
export async function admit(gate: Gate, route: Charged, context: Context): Promise<Caller | null> {
  const { limiters } = gate;
  if (route.limit === 'sign_in') spend(context, limiters.signIn, networkOf(context.ip));
  if (route.access.kind === 'public') {
    if (route.limit === undefined) spend(context, limiters.address, networkOf(context.ip));
    return null;
  }
  const caller = await identify(gate, context);
  spend(context, limiterOf(gate, route), spenderOf(caller));
  authorize(route, caller);
  return caller;
}

/**
 * Returns the caller.
 * @throws Problem `unauthenticated`, also without a credential. Such requests are limited by address.
 */
async function identify({ authenticate, limiters }: Gate, context: Context): Promise<Caller> {
  const caller = await authenticate(context).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'unauthenticated')
      spend(context, limiters.address, networkOf(context.ip));
    throw error;
  });
  if (!caller) {
    spend(context, limiters.address, networkOf(context.ip));
    throw unauthenticated('Send an API key in X-API-Key, or a token in Authorization: Bearer.');
  }
  (context.state as RequestState).caller = caller;
  return caller;
}

/**
 * Returns the body that `read` reads, with the caller of the request. The rest of a body can arrive long after its headers.
 * The credential may have been revoked, or the role lowered, so it is checked again after a body that was not there yet.
 */
export async function withBody<Body, Admitted extends Caller | null>(
  gate: Gate,
  route: Pick<Route, 'access'>,
  { context, caller }: { context: Context; caller: Admitted },
  read: () => Promise<Body>,
): Promise<{ caller: Admitted; body: Body }> {
  const isThere = context.req.complete;
  const body = await read();
  if (isThere || caller === null) return { caller, body };
  const current = await identify(gate, context);
  authorize(route, current);
  return { caller: current as Admitted, body };
}

/** Takes the cost of a request from the limit of the route, less the part that was already taken. */
export function charge(
  gate: Gate,
  route: Pick<Route, 'limit' | 'cost'>,
  context: Context,
  { caller, body, paid = 1 }: Pick<Call, 'caller' | 'body'> & { paid?: number },
): void {
  const more = (route.cost?.(body) ?? 1) - paid;
  if (caller && more > 0) spend(context, limiterOf(gate, route), spenderOf(caller), more);
}

/** Returns the token that the admission of a request took, for a call that counts towards another limit instead. */
export function returnCharge({ limiters }: Gate, caller: Caller): void {
  limiters.credential.refund(spenderOf(caller));
}

function limiterOf({ limiters }: Gate, route: Pick<Route, 'limit'>): RateLimiter {
  return route.limit === 'events' ? limiters.events : limiters.credential;
}

/** Returns what limits by credential count a caller as. */
export function spenderOf(caller: Caller): string {
  return caller.kind === 'person' ? caller.sessionId : caller.actor;
}

/** Returns whether the caller has one of the scopes that the route requires. */
export function hasScope({ access }: Pick<Route, 'access'>, caller: Caller): boolean {
  return scopesOf(access)?.some((scope) => caller.scopes.includes(scope)) ?? true;
}

/** @throws Problem `forbidden` if the caller lacks the scope or the role that the route requires */
export function authorize({ access }: Pick<Route, 'access'>, caller: Caller): void {
  if (!hasScope({ access }, caller)) {
    const lacking = caller.kind === 'person' ? `The role ${caller.role} does not` : 'The credential does not';
    throw new Problem('forbidden', `${lacking} have the required scope ${scopesOf(access)?.join(' or ')}.`);
  }
  if (access.kind !== 'person') return;
  if (caller.kind !== 'person')
    throw new Problem('forbidden', 'Only signed-in users can do this. Keys and tokens cannot.');
  if (!hasRole(caller.role, access.least)) {
    throw new Problem('forbidden', `Requires the role ${access.least} or higher. Yours is ${caller.role}.`);
  }
}

/** A request as its idempotency key sees it. `key` is the key as it was sent. */
export type KeyedRequest = { method: string; path: string; key: string | string[] | undefined };

/** Calls the handler of the route, at most once for an idempotency key. */
export async function respond(
  { idempotency }: Gate,
  route: Route,
  { method, path, key }: KeyedRequest,
  call: Call,
): Promise<RouteResponse> {
  if (!route.idempotent || key === undefined || call.caller === null) return await route.handle(call);
  const wanted = { given: [key].flat().join(', '), method, path, body: call.body, caller: call.caller };
  return await idempotency(wanted, (claim) => route.handle({ ...call, claim }));
}

/** Returns a signal that aborts when the client disconnects. */
export function goneSignal(context: Context): AbortSignal {
  const gone = new AbortController();
  context.res.once('close', () => gone.abort());
  if (context.res.closed) gone.abort();
  return gone.signal;
}
