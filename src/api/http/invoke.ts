import type { Context } from 'koa';
import { authorize, charge, respond, returnCharge, type Gate } from './admit.ts';
import type { Caller } from './caller.ts';
import type { RequestState } from './request-state.ts';
import type { Call, Route, RouteResponse } from './route.ts';
import { validated } from './validation.ts';

/** The parts of a request to a route, not validated. */
export type Invocation = {
  params: Record<string, unknown>;
  /** Values as in a URL: texts, or lists of texts. */
  query: Record<string, unknown>;
  /** Undefined without a body. */
  body: unknown;
  /** The JSON text with the body's fields. */
  text: string;
  headers?: Call['headers'];
  idempotencyKey?: string | undefined;
};

/** Calls a route with the credential of the request that is being handled. */
export type Invoke = (route: Route, invocation: Invocation) => Promise<RouteResponse>;

/**
 * Returns a function that calls routes within a request of another protocol. Access rules, validation, limits and
 * idempotency keys are the same as over HTTP. The admission of the request has taken one token from the limit of its
 * credential, so a call takes only further tokens. A call that counts towards the limit of events returns that token.
 */
export function createInvoke(
  gate: Gate & { onResponse?: ((route: Route, answer: RouteResponse) => void) | undefined },
  context: Context,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Invoke {
  const state = context.state as RequestState;
  const { requestId } = state;
  return async function invoke(route, { params, query, body, text, headers = {}, idempotencyKey }) {
    authorize(route, caller);
    const call: Call = {
      params: route.params && validated(route.params, params, 'body'),
      query: route.query && validated(route.query, query, 'query'),
      body:
        route.body &&
        (body === undefined && route.bodyOptional ? undefined : validated(route.body, body, 'body')),
      text,
      caller,
      headers,
      address: context.ip,
      requestId,
      // That of the message, if the protocol has one for each.
      traceparent: state.trace?.traceparent ?? null,
      mediaType: 'application/json',
      signal: () => signal,
      claim: null,
    };
    const isPaid = route.limit !== 'events';
    if (!isPaid) returnCharge(gate, caller);
    charge(gate, route, context, { caller, body: call.body, paid: isPaid ? 1 : 0 });
    const path = pathOf(route, call.params);
    state.invoked ??= { operation: route.operationId, path };
    const request = { method: route.method.toUpperCase(), path, key: idempotencyKey };
    const answer = await respond(gate, route, request, call);
    const made = answer.headers?.['Location'];
    if (typeof made === 'string' && state.invoked.path === path) state.invoked.made = made;
    gate.onResponse?.(route, answer);
    return answer;
  };
}

/** Returns the path of a request to the route, so that a key means the same request in every protocol. */
function pathOf(route: Route, params: unknown): string {
  const values = (params ?? {}) as Record<string, unknown>;
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
}
