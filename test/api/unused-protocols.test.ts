import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';

const run = promisify(execFile);

/** Prints the modules of the protocols for agents that the API has loaded after its start. */
const PROGRAM = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  const load = (url, context, next) => {
    if (/node_modules\\/(@a2a-js|@modelcontextprotocol)\\//.test(url)) loaded.push(url);
    return next(url, context);
  };
  registerHooks({ load });
  await import(${JSON.stringify(pathToFileURL(inCheckout('src', 'api', 'server.ts')).href)});
  console.log(JSON.stringify(loaded));
  process.exit();
`;

describe('the API without agents as callers', function () {
  it('does not load the implementations of their protocols', async () => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
    assert.deepEqual(JSON.parse(stdout), []);
  });
});
