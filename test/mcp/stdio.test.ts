import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { cliWith, type Cli } from '../cli/cli-process.ts';
import { PASSWORD, useWorld } from '../support/world.ts';
import { call, PROTOCOLS } from './client.ts';

const ENTRY = fileURLToPath(new URL('../../cli/baton.mjs', import.meta.url));
const PING = '{"jsonrpc":"2.0","id":"a","method":"ping"}\n';

describe('baton mcp', () => {
  const world = useWorld();
  let cli: Cli;
  before('prepare the command line', () => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
  });
  after('clean up', () => cli.cleanUp());

  /** Starts the command as a desktop client does. */
  async function start(protocol: (typeof PROTOCOLS)[number], env: Record<string, string> = cli.env) {
    const mode = protocol === '2026-07-28' ? { pin: protocol } : 'legacy';
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const { PATH = '' } = process.env;
    const command = { command: process.execPath, args: [ENTRY, 'mcp'] };
    await client.connect(new StdioClientTransport({ ...command, env: { PATH, HOME: cli.home, ...env } }));
    return client;
  }

  for (const protocol of PROTOCOLS) {
    it(`serves clients of MCP ${protocol}`, async () => {
      const client = await start(protocol);
      const artifact = { step: 1, name: 'größe.md', media_type: 'text/markdown', text: '# Größe\n' };
      const metadata = { rehearsal: { steps: 1, artifact } };
      const title = 'Größe\u2028in two lines';
      const { execution_id } = await call(client, 'submit_task', { title, metadata });
      assert.equal((await call(client, 'wait_for_task', { execution_id, seconds: 60 })).state, 'completed');
      assert.equal((await call(client, 'get_task', { execution_id })).title, title);
      const uri = `baton://tasks/${execution_id}/artifacts/${encodeURIComponent(artifact.name)}`;
      const [content] = (await client.readResource({ uri })).contents;
      assert.ok(content && 'text' in content);
      assert.equal(content.text, artifact.text);
      await assert.rejects(client.callTool({ name: 'größe', arguments: {} }), { code: -32_602 });
      await client.close();
    });
  }

  it('uses the session of a signed-in user', async () => {
    const env = { BATON_URL: world.api.url };
    const email = world.installation.admin_email;
    const signedIn = await cli.run(['login', '--email', email, '--password-stdin'], {
      input: PASSWORD,
      env: { BATON_API_KEY: '' },
    });
    assert.equal(signedIn.code, 0, signedIn.stderr);
    const client = await start('2025-11-25', env);
    const { execution_id } = await call(client, 'submit_task', { title: 'Of a user' });
    const { json } = await world.send('GET', `/api/v1/tasks/${execution_id}`);
    assert.equal(json.created_by, `user:${email}`);
    await client.close();

    const asUser = { BATON_API_KEY: '' };
    const session = world.as(await world.signIn());
    const second = await world.send('POST', '/api/v1/projects', {
      ...session,
      body: { name: 'Second', key: 'SECOND' },
    });
    assert.equal(second.status, 201);
    const unclear = await cli.run(['mcp'], { input: PING, env: asUser });
    assert.deepEqual([unclear.code, unclear.stdout], [2, '']);
    assert.match(unclear.stderr, /Choose a project with --project:\n(.*\n)*.* Second/);
    const chosen = await cli.run(['mcp', '--project', second.json.id], { input: PING, env: asUser });
    assert.match(chosen.stdout, /"id":"a"/);
  });

  it('responds to every message before it ends, and passes numbers on as they are', async () => {
    const message =
      '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"submit_task","arguments":';
    const args = '{"title":"Exact","metadata":{"a":9007199254740993}}}}\n';
    const input = `${PING}\n{"jsonrpc":\n${message}${args}[${PING.trim()}]\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`;
    const { code, stdout } = await cli.run(['mcp'], { input });
    assert.equal(code, 0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const codes = lines.map(({ id, error }) => `${id} ${error?.code ?? ''}`).toSorted();
    assert.deepEqual(codes, ['1 ', 'a ', 'null -32600', 'null -32700']);
    assert.match(stdout, /number_not_exact/);
  });

  it('reports a wrong key and an unreachable service, and ends', async () => {
    const wrong = await cli.run(['mcp'], { input: PING, env: { BATON_API_KEY: 'baton_wrong' } });
    assert.deepEqual([wrong.code, wrong.stdout], [5, '']);
    assert.match(wrong.stderr, /^baton: .*unauthenticated/);
    const url = { BATON_URL: 'http://127.0.0.1:9' };
    const unreachable = await cli.run(['mcp'], { input: PING, env: url });
    assert.deepEqual([unreachable.code, unreachable.stdout], [6, '']);
    assert.match(unreachable.stderr, /^baton: The server at http:\/\/127.0.0.1:9 is unreachable/);
  });
});
