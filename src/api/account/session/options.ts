import { z } from 'zod';
import type { Dependencies } from '../../dependencies.ts';
import { route, type Route } from '../../http/route.ts';

const options = z
  .strictObject({
    password: z.boolean(),
    openid: z
      .strictObject({ name: z.string().describe('Label of the sign-in button') })
      .nullable()
      .describe('Null if no provider is configured'),
  })
  .meta({ id: 'SignInOptions', example: { password: true, openid: { name: 'Acme SSO' } } });

/** Returns the route that lists the ways to sign in. */
export function signInOptionRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/sign-in-options',
      operationId: 'readSignInOptions',
      tag: 'session',
      summary: 'List the ways to sign in',
      access: { kind: 'public' },
      responses: { 200: { description: 'The ways to sign in', schema: options } },
      async handle() {
        const openid = deps.openId && { name: deps.openId.name };
        return { status: 200, body: { password: true, openid } };
      },
    }),
  ];
}
