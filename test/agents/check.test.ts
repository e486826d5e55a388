import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliWith, type Cli } from '../cli/cli-process.ts';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';

const BIN = join(import.meta.dirname, '../../node_modules/.bin');
const KEY = 'sk-a-key-that-nobody-sees';
const TEAMS = ['feature', 'bug', 'spec', 'chore']
  .map((type) => `  ${type}: [{ step: one, agent: ada }]`)
  .join('\n');

describe('`baton agents check`', function () {
  let model: ModelServer;
  let scout: A2aAgent;
  let cli: Cli;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'baton-check-'));
    model = await startModelServer(() => ({ text: 'ready' }));
    scout = await startA2aAgent({ streaming: true });
    cli = cliWith({
      OPENAI_COMPATIBLE_BASE_URL: model.url,
      OPENAI_COMPATIBLE_API_KEY: KEY,
      OUTBOUND_ALLOW: '127.0.0.0/8',
    });
  });
  after(async () => {
    await cli.cleanUp();
    await Promise.all([model.close(), scout.close()]);
    rmSync(folder, { recursive: true });
  });

  function catalogue(agents: string, servers = ''): string {
    const path = join(folder, 'agents.yml');
    writeFileSync(path, `servers: { ${servers} }\nagents:\n${agents}\nteams:\n${TEAMS}\n`);
    return path;
  }

  it('reports for each agent whether its model responds and its tools start', async () => {
    const file = catalogue(
      `  ada: { instructions: a, model: openai-compatible/one, tools: [all/echo, all/get-s*] }
  bob: { instructions: b, model: openai-compatible/one }
  scout: { instructions: c, a2a: '${scout.url}' }
  prog: { instructions: d, command: [node, x.mjs] }
  idle: { instructions: e }`,
      `all: { command: ${join(BIN, 'mcp-server-everything')} }`,
    );
    const { data } = await cli.json(['agents', 'check', '--file', file]);
    assert.deepEqual(
      data.map((one: { agent: string; backend: string; ok: boolean; tools: { count: number } | null }) => [
        one.agent,
        one.backend,
        one.ok,
        one.tools?.count ?? null,
      ]),
      [
        ['ada', 'model', true, 3],
        ['bob', 'model', true, null],
        ['scout', 'a2a', true, null],
        ['prog', 'command', true, null],
        ['idle', 'rehearsal', true, null],
      ],
    );
    assert.equal(model.asked.length, 1);
    const shown = await cli.run(['agents', 'check', '--file', file]);
    assert.equal(shown.code, 0);
    assert.match(
      shown.stdout,
      /AGENT +BACKEND +BY +ANSWERS +TOOLS\nada +model +openai-compatible\/one +✔ \d+/,
    );
  });

  it('exits with 1 and names each failed check, without a secret', async () => {
    model.answering(() => ({ status: 401, message: `no such key: ${KEY}` }));
    const file = catalogue(
      `  ada: { instructions: a, model: openai-compatible/one, tools: [gone/read] }
  bob: { instructions: b, model: openai/gpt }
  scout: { instructions: c, a2a: '${scout.url}/other' }
  inner: { instructions: c, a2a: 'http://10.0.0.1/' }
  prog: { instructions: d, command: [no-such-program-here] }
  lint: { instructions: d, command: { run: [node], cwd: /nowhere/here } }
  tool: { instructions: d, model: openai-compatible/one, tools: [lost/read] }`,
      'gone: { command: /nowhere/at-all }, lost: { command: node, cwd: /nowhere/there }',
    );
    const done = await cli.run(['agents', 'check', '--file', file]);
    assert.equal(done.code, 1);
    assert.match(done.stdout, /ada: openai-compatible\/one .*401/);
    assert.match(done.stdout, /ada: gone: cannot start the server: program not found: \/nowhere\/at-all/);
    assert.match(done.stdout, /bob: openai\/gpt is not configured: OPENAI_API_KEY is not set/);
    assert.match(done.stdout, /scout: Failed to fetch Agent Card .*404/);
    assert.match(done.stdout, /inner: Address not allowed: 10\.0\.0\.1/);
    assert.match(done.stdout, /prog: program not found: no-such-program-here/);
    assert.match(done.stdout, /lint: folder not found: \/nowhere\/here/);
    assert.match(done.stdout, /tool: lost: cannot start the server: folder not found: \/nowhere\/there/);
    assert.match(done.stderr, /7 of 7 agents failed the check/);
    assert.ok(!(done.stdout + done.stderr).includes(KEY));
  });

  it('exits with 2 and names the fault of an invalid catalogue', async () => {
    const done = await cli.run([
      'agents',
      'check',
      '--file',
      catalogue('  ada: { instructions: a, tools: [x/y] }'),
    ]);
    assert.equal(done.code, 2);
    assert.match(done.stderr, /agents\.ada\.tools: no server x for x\/y/);
  });
});
