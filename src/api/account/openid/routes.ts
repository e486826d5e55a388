import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { OPENID_SIGN_IN_MS } from '../../../domain/common/limits.ts';
import { createRateLimiter, type RateLimiter } from '../../../domain/common/rate-limiter.ts';
import type { SignInProblem } from '../../../domain/people/sign-in-problems.ts';
import { signInByOpenId } from '../../../database/people/openid.ts';
import { isDatabaseOutage } from '../../../database/common/outage.ts';
import { OpenIdFailure } from '../../../security/openid.ts';
import { safeReturnPath } from '../../../security/return-path.ts';
import type { Dependencies } from '../../dependencies.ts';
import { networkOf } from '../../http/client-address.ts';
import { shownAs } from '../../http/fields.ts';
import { route, type RouteResponse, type Route } from '../../http/route.ts';
import { planSession } from '../session/begin.ts';
import { expiredCookie, pendingSignInCookie, findPendingSignIn } from './browser.ts';
import { visitorOf } from './visitor.ts';

const PATH = '/api/v1/openid';
const tag = 'session';

/** One value. Repeated parameters are not rejected here. */
const parameter = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .meta(shownAs({ type: 'string' }));

const FOUND = {
  302: {
    description: 'Redirect to the provider, to the requested page, or to `/sign-in?problem=<code>`',
    headers: { Location: 'Redirect target', 'Set-Cookie': 'The pending sign-in, or the session; HttpOnly' },
  },
};

/**
 * Returns the routes of the sign-in with an OpenID provider. Both are for browsers and always redirect. A failure
 * redirects to the sign-in page, which shows a message.
 */
export function openIdRoutes(deps: Dependencies): Route[] {
  const perMinute = deps.signInsPerMinute;
  const rate = { name: 'openid', perSecond: perMinute / 60, burst: perMinute };
  return [
    begin(deps),
    finish(
      deps,
      createRateLimiter(rate, () => deps.clock()),
    ),
  ];
}

function begin(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: `${PATH}/sign-in`,
    operationId: 'beginOpenIdSignIn',
    tag,
    summary: 'Sign in with the OpenID provider (for browsers)',
    access: { kind: 'public' },
    query: z.looseObject({ to: parameter.describe('Path of the page to return to after sign-in') }),
    responses: FOUND,
    handle: async ({ query: { to } }) =>
      await guarded(deps, to, async () => {
        const returnPath = safeReturnPath(to);
        if (!deps.openId) return toSignIn(deps, 'openid_off', returnPath);
        const { url, secrets } = await deps.openId.provider.begin();
        const until = deps.clock().getTime() + OPENID_SIGN_IN_MS;
        const pending = { ...secrets, place: returnPath, until };
        const cookie = pendingSignInCookie(deps.baseUrl, deps.sealing, pending);
        return { status: 302, headers: { Location: url, 'Set-Cookie': cookie } };
      }),
  });
}

function finish(deps: Dependencies, limiter: RateLimiter): Route {
  return route({
    method: 'get',
    path: `${PATH}/callback`,
    operationId: 'finishOpenIdSignIn',
    tag,
    summary: 'Receive the browser from the OpenID provider',
    access: { kind: 'public' },
    // Counted in the handler, so that the sign-in page also reports a rate limit.
    limit: 'none',
    query: z.looseObject({ code: parameter, state: parameter, error: parameter }),
    responses: FOUND,
    async handle({ query, headers, address }) {
      if (!limiter.take(networkOf(address)).granted) return toSignIn(deps, 'rate_limited', '/');
      const state = typeof query.state === 'string' ? query.state : '';
      const now = deps.clock();
      const { baseUrl, sealing } = deps;
      const attempt = findPendingSignIn(headers, { baseUrl, sealing, state, now });
      if (!attempt) return toSignIn(deps, deps.openId ? 'openid_expired' : 'openid_off', '/');
      const answer = await guarded(
        deps,
        attempt.place,
        async () => await redeem(deps, query, attempt, { headers, address }),
      );
      return withCookie(answer, expiredCookie(baseUrl, state));
    },
  });
}

type Attempt = NonNullable<ReturnType<typeof findPendingSignIn>>;

async function redeem(
  deps: Dependencies,
  query: Record<string, unknown>,
  { place: returnPath, ...secrets }: Attempt,
  request: { headers: IncomingHttpHeaders; address: string },
): Promise<RouteResponse> {
  if (!deps.openId) return toSignIn(deps, 'openid_off', returnPath);
  const { provider, joining } = deps.openId;
  const given = Object.entries(query).filter(([, value]) => typeof value === 'string') as [string, string][];
  const person = await provider.finish(new URLSearchParams(given), secrets);
  const { plan: session, cookie } = planSession(deps, request);
  const visitor = visitorOf(person);
  const done = await signInByOpenId(deps.database, { person: visitor, joining, session, now: session.now });
  if (typeof done === 'string') return toSignIn(deps, done, returnPath);
  return { status: 302, headers: { Location: deps.baseUrl + returnPath, 'Set-Cookie': cookie } };
}

/** Runs the work. A known failure is logged and redirects to the sign-in page. */
async function guarded(
  deps: Dependencies,
  to: unknown,
  work: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  try {
    return await work();
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    deps.log.warn({ problem, reason: (error as Error).message }, 'OpenID sign-in failed');
    return toSignIn(deps, problem, safeReturnPath(to));
  }
}

function problemOf(error: unknown): SignInProblem | null {
  if (error instanceof OpenIdFailure) return error.code;
  return isDatabaseOutage(error) ? 'unavailable' : null;
}

function toSignIn({ baseUrl }: Dependencies, problem: SignInProblem, returnPath: string): RouteResponse {
  const search = new URLSearchParams({ problem, ...(returnPath === '/' ? {} : { to: returnPath }) });
  return { status: 302, headers: { Location: `${baseUrl}/sign-in?${search.toString()}` } };
}

function withCookie(answer: RouteResponse, cookie: string): RouteResponse {
  const before = answer.headers?.['Set-Cookie'] ?? [];
  return { ...answer, headers: { ...answer.headers, 'Set-Cookie': [before, cookie].flat() } };
}
