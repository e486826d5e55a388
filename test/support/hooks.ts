import type { RootHookObject } from 'mocha';
import { closeBrowser } from './browser.ts';

/** What a test forgot to wait for must fail the run, not vanish. */
export const mochaHooks: RootHookObject = {
  beforeAll() {
    process.env['NODE_ENV'] = 'test';
  },
  async afterAll() {
    await closeBrowser();
  },
};
