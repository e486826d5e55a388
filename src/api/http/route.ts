import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Role, Scope } from '../../domain/people/access.ts';
import type { Claim } from '../../domain/common/idempotency.ts';
import type { ProblemCode } from '../../domain/common/problem-codes.ts';
import type { Caller, PersonCaller } from './caller.ts';

export type { Claim } from '../../domain/common/idempotency.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Who may call: everyone; a credential with one of these scopes (null: any credential); a user with a role or a higher one. */
export type Access =
  | { kind: 'public' }
  | { kind: 'credential'; scope: Scope | readonly Scope[] | null }
  | { kind: 'person'; least: Role };

/**
 * One response in the OpenAPI document. `mediaTypes` defaults to JSON. If responses have media types without a schema
 * and the route declares no media types, the caller cannot choose one.
 */
export type DeclaredResponse = {
  description: string;
  schema?: z.ZodType;
  headers?: Readonly<Record<string, string>>;
  mediaTypes?: readonly string[];
};

/** The argument of a handler. */
export type Call<Params = unknown, Query = unknown, Body = unknown, Who = Caller | null> = {
  params: Params;
  query: Query;
  body: Body;
  /** The raw body; empty if there is none. */
  text: string;
  caller: Who;
  headers: IncomingHttpHeaders;
  address: string;
  requestId: string;
  /** The `traceparent` of the request's span; null if no traces are recorded. */
  traceparent: string | null;
  /** The media type of the route that the caller prefers. */
  mediaType: string;
  /** Returns a signal that is aborted when the caller disconnects or the service shuts down. Most handlers need none. */
  signal(): AbortSignal;
  /** The claimed idempotency key; null without a key. */
  claim: Claim | null;
};

export type RouteResponse = {
  status: number;
  /** Sent as JSON. */
  body?: unknown;
  /** Several values of a header are sent as several lines. */
  headers?: Readonly<Record<string, string | string[]>>;
  /** Sent unchanged, in the media type of the call unless the headers name another. */
  stream?: Readable;
};

/** The declaration of a route. Requests are validated by it, and the OpenAPI document is generated from it. */
export type Route = {
  method: Method;
  /** With `{name}` for each parameter. */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** Request headers of this route, only for the document. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  bodyOptional?: boolean;
  /** Schemas of bodies in other media types than application/json. All have the same output. */
  otherBodies?: Readonly<Record<string, z.ZodType>>;
  /** Whether the route supports `Idempotency-Key`. */
  idempotent?: boolean;
  /** `sign_in`: the narrow limit per address; `events`: the wide one per credential; `none`: no limit. */
  limit?: 'sign_in' | 'events' | 'none';
  /** How much of the limit a request takes, by its validated body; default: one. */
  cost?(body: unknown): number;
  mediaTypes?: readonly string[];
  responses: Readonly<Record<number, DeclaredResponse>>;
  /** Problems in addition to those that follow from the declaration. */
  problems?: readonly ProblemCode[];
  handle(call: Call): Promise<RouteResponse>;
};

/** Returns the scopes of which the caller of a route needs one; null if the route requires no scope. */
export function scopesOf(access: Access): readonly Scope[] | null {
  if (access.kind !== 'credential') return null;
  return typeof access.scope === 'string' ? [access.scope] : access.scope;
}

/** Returns whether the caller can choose the media type of a response, so that none may be acceptable. */
export function isNegotiated({ mediaTypes, responses }: Pick<Route, 'mediaTypes' | 'responses'>): boolean {
  return mediaTypes !== undefined || Object.values(responses).some(({ schema }) => schema !== undefined);
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;
type CallerOf<A extends Access> = A extends { kind: 'public' }
  ? null
  : A extends { kind: 'person' }
    ? PersonCaller
    : Caller;

/** Declares a route; the handler's parameter has the types of the schemas and of `access`. */
export function route<
  A extends Access,
  P extends z.ZodObject | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  Optional extends boolean = false,
>(
  declaration: Omit<
    Route,
    'access' | 'params' | 'query' | 'body' | 'bodyOptional' | 'otherBodies' | 'cost' | 'handle'
  > & {
    access: A;
    params?: P;
    query?: Q;
    body?: B;
    bodyOptional?: Optional;
    otherBodies?: Readonly<Record<string, z.ZodType<Output<B>>>>;
    cost?(body: Output<B>): number;
    handle(
      call: Call<
        Output<P>,
        Output<Q>,
        Optional extends true ? Output<B> | undefined : Output<B>,
        CallerOf<A>
      >,
    ): Promise<RouteResponse>;
  },
): Route {
  return declaration as unknown as Route;
}
