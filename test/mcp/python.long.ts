import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonWith } from '../../dev/services/python.ts';
import { useWorld } from '../support/world.ts';

/** Modes of the Python client, with the version that it agrees on. */
const MODES = { auto: '2026-07-28', legacy: '2025-11-25' };
const LIMIT_MS = 300_000;

describe("Python's client of the Model Context Protocol", function () {
  this.timeout(LIMIT_MS);
  const world = useWorld();
  let python: string;
  before('install the client', async () => {
    const requirements = inCheckout('test', 'mcp', 'python-requirements.txt');
    python = await pythonWith({ requirements, probe: 'mcp' });
  });

  for (const [mode, version] of Object.entries(MODES)) {
    it(`submits a task, answers its question and reads its document with ${version}`, async () => {
      const args = [inCheckout('test', 'mcp', 'python-client.py'), `${world.api.url}/mcp`, mode];
      const env = { ...process.env, KEY: world.installation.api_key };
      const { stdout } = await promisify(execFile)(python, args, { env });
      assert.deepEqual(JSON.parse(stdout), {
        version,
        tools: 15,
        question: 'Which?',
        state: 'completed',
        document: '# Größe',
        refused: true,
      });
    });
  }
});
