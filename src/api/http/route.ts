import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Role, Scope } from '../../domain/people/access.ts';
import type { ProblemCode } from '../../domain/common/problem-codes.ts';
import type { Caller, PersonCaller } from './caller.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Who may call: everybody; a credential with a scope (null: any); a person of a role or more. */
export type Access =
  | { kind: 'public' }
  | { kind: 'credential'; scope: Scope | null }
  | { kind: 'person'; least: Role };

/**
 * One answer as the OpenAPI document tells of it. `mediaTypes` is JSON by default; where a route's answers have types
 * and no schema, and the route itself names none, the caller can't choose among them.
 */
export type DeclaredAnswer = {
  description: string;
  schema?: z.ZodType;
  headers?: Readonly<Record<string, string>>;
  mediaTypes?: readonly string[];
};

/** What every handler gets. */
export type Call<Params = unknown, Query = unknown, Body = unknown, Who = Caller | null> = {
  params: Params;
  query: Query;
  body: Body;
  /** The body as it came; empty where there is none. */
  text: string;
  caller: Who;
  headers: IncomingHttpHeaders;
  address: string;
  requestId: string;
  /** The `traceparent` of the request's own span; null where no traces are kept. */
  traceparent: string | null;
  /** The media type that the caller likes best among those the route offers. */
  mediaType: string;
  /** Aborted when the caller goes away or the service stops. */
  signal: AbortSignal;
  /** When the idempotency key of this request was first used, with the key; null without one. */
  claim: Claim | null;
};

export type Claim = { scope: string; key: string; claimedAt: Date };

export type Answer = {
  status: number;
  /** Sent as JSON. */
  body?: unknown;
  /** Several values of a header are sent as several lines. */
  headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as it comes, in the call's media type unless the headers name another. */
  stream?: Readable;
};

/** A route said once: requests are checked by it, and the OpenAPI document tells of it. */
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
  /** Headers that mean something here, for the document alone. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  bodyOptional?: boolean;
  /** What a body of another media type than application/json must be; the handler gets the same of all. */
  otherBodies?: Readonly<Record<string, z.ZodType>>;
  /** Whether an `Idempotency-Key` makes repeats of this request harmless. */
  idempotent?: boolean;
  /** `sign_in`: the narrow limit per address; `events`: the wide one per credential; `none`: no limit. */
  limit?: 'sign_in' | 'events' | 'none';
  /** How much of the limit a request takes, by its checked body; one unless given. */
  cost?(body: unknown): number;
  mediaTypes?: readonly string[];
  answers: Readonly<Record<number, DeclaredAnswer>>;
  /** Problems beyond those that follow from the declaration. */
  problems?: readonly ProblemCode[];
  handle(call: Call): Promise<Answer>;
};

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
    ): Promise<Answer>;
  },
): Route {
  return declaration as unknown as Route;
}
