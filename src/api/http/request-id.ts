import { randomUUIDv7 } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { RequestState } from './request-state.ts';

const ACCEPTED = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Accepts the caller's `X-Request-Id` where it is short and plain, makes one otherwise, and echoes it. */
export async function requestId(context: Context, next: Next): Promise<void> {
  const given = context.get('X-Request-Id');
  const id = ACCEPTED.test(given) ? given : randomUUIDv7();
  (context.state as RequestState).requestId = id;
  context.set('X-Request-Id', id);
  await next();
}
