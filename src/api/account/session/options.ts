import { z } from 'zod';
import type { Dependencies } from '../../dependencies.ts';
import { route, type Route } from '../../http/route.ts';

const options = z
  .strictObject({
    password: z.boolean(),
    openid: z
      .strictObject({ name: z.string().describe('What the button says') })
      .nullable()
      .describe('Null where no provider is configured'),
  })
  .meta({ id: 'SignInOptions', example: { password: true, openid: { name: 'Acme SSO' } } });

/** How one may sign in here. */
export function signInOptionRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/sign-in-options',
      operationId: 'readSignInOptions',
      tag: 'session',
      summary: 'How one may sign in here',
      access: { kind: 'public' },
      answers: { 200: { description: 'The ways', schema: options } },
      async handle() {
        const openid = deps.openId && { name: deps.openId.name };
        return { status: 200, body: { password: true, openid } };
      },
    }),
  ];
}
