import assert from 'node:assert/strict';
import { allRoutes } from '../../src/api/app.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';

describe('the limit of requests', () => {
  const routes = allRoutes({} as Dependencies);
  const operations = (limit: string) =>
    routes.filter((route) => route.limit === limit).map(({ operationId }) => operationId);

  it('is narrow for every operation with a password', () => {
    assert.deepEqual(operations('sign_in').toSorted(), ['acceptInvitation', 'changePassword', 'signIn']);
  });

  it('is wide for events alone', () => assert.deepEqual(operations('events'), ['sendEvents']));

  it('is missing only for the health and for returns from the OpenID provider, which count themselves', () => {
    const without = routes.filter(({ limit }) => limit === 'none').map(({ path }) => path);
    assert.deepEqual(
      without.filter((path) => !path.startsWith('/health/')),
      ['/api/v1/openid/callback'],
    );
  });
});
