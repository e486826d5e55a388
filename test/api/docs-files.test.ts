import assert from 'node:assert/strict';
import type { Context } from 'koa';
import { createDocsPages } from '../../src/api/docs/routes.ts';

describe('the large files of the pages of the API', () => {
  it('are read once, not for each request', async () => {
    const pages = createDocsPages({ baseUrl: 'http://localhost' }, []);
    const bodyOf = async (path: string): Promise<unknown> => {
      const context = { method: 'GET', path, set: () => {} } as unknown as Context;
      await pages(context, () => assert.fail('the path is unknown'));
      return context.body;
    };
    for (const path of ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
      const [one, other] = await Promise.all([bodyOf(path), bodyOf(path)]);
      assert.ok(Buffer.isBuffer(one) && one.length > 100_000);
      assert.equal(one, other);
      assert.equal(one, await bodyOf(path));
    }
  });
});
