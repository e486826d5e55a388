import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverOf, serverSchema } from '../../src/agents/server-settings.ts';
import { answerOf, textOfResult } from '../../src/agents/tool-answers.ts';
import { mayRepeat, toolNamed, toolSetOf } from '../../src/agents/tool-set.ts';
import { createToolServers, type ToolServers } from '../../src/agents/tool-servers.ts';
import { TOOL_ANSWER_BYTES } from '../../src/domain/common/limits.ts';
import { NO_ISOLATION } from '../../src/agents/isolation.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createGuardedFetch } from '../../src/outbound/guarded-fetch.ts';
import { startHttpMcpServer } from '../support/mcp-http.ts';
import { eventually } from '../support/eventually.ts';

const BIN = join(import.meta.dirname, '../../node_modules/.bin');
const MISBEHAVING = join(import.meta.dirname, '../support/mcp-misbehaving.ts');
const everything = { command: join(BIN, 'mcp-server-everything') };
const misbehaving = { command: process.execPath, args: [MISBEHAVING] };

describe('MCP servers of the catalogue', () => {
  const open: (() => unknown)[] = [];
  let diagnostics: string[] = [];

  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close();
  });

  /** Servers from settings as the catalogue writes them, with an environment of their own. */
  function serversOf(
    settings: Record<string, unknown>,
    environment: Record<string, string> = {},
    allow: string[] = ['127.0.0.0/8'],
  ): ToolServers {
    diagnostics = [];
    const guarded = createGuardedFetch({ guard: createAddressGuard(allow) });
    const servers = createToolServers({
      servers: new Map(
        Object.entries(settings).map(([name, one]) => [name, serverOf(name, serverSchema.parse(one))]),
      ),
      environment: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      isolation: NO_ISOLATION,
      fetch: guarded.fetch,
      onDiagnostic: (_server, line) => diagnostics.push(line),
    });
    open.push(() => guarded.close());
    open.push(() => servers.close());
    return servers;
  }
  const call = async (servers: ToolServers, server: string, tool: string, input = {}, signal?: AbortSignal) =>
    textOfResult(await servers.call(server, tool, input, signal));

  describe('on standard input and output', () => {
    it('are started once, when they are first used', async () => {
      const servers = serversOf({ all: everything });
      const [first, second] = await Promise.all([
        call(servers, 'all', 'echo', { message: 'one' }),
        call(servers, 'all', 'echo', { message: 'two' }),
      ]);
      assert.equal(first, 'Echo: one');
      assert.equal(second, 'Echo: two');
      assert.equal(childrenOf('mcp-server-everything').length, 1);
    });

    it('see of the environment only what is named for them', async () => {
      const environment = { OPENAI_API_KEY: 'sk-secret-of-the-worker', NAMED: 'yes', OTHER_THING: 'no' };
      const servers = serversOf({ all: { ...everything, env: ['NAMED'] } }, environment);
      const seen = JSON.parse(await call(servers, 'all', 'get-env'));
      assert.deepEqual(Object.keys(seen).toSorted(), ['HOME', 'NAMED', 'PATH']);
    });

    it('do not start without a variable that is named for them, and the reason says which', async () => {
      const servers = serversOf({ all: { ...everything, env: ['NOT_THERE'] } });
      await assert.rejects(servers.list('all'), /NOT_THERE is not set/);
    });

    it('that can not be started are a sentence', async () => {
      const servers = serversOf({ none: { command: '/nowhere/at-all' }, ends: { command: 'false' } });
      await assert.rejects(
        servers.list('none'),
        /cannot start the server: program not found: \/nowhere\/at-all/,
      );
      await assert.rejects(servers.list('ends'), /cannot start the server: exit code 1/);
    });

    it('that crash in a call are started anew for the next one', async () => {
      const servers = serversOf({ bad: misbehaving });
      const before = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'crash'), /the server ended \(exit code 3\)/);
      assert.notEqual(await call(servers, 'bad', 'pid'), before);
    });

    it('that hang in a call are given up after its time limit, and other calls go on', async () => {
      const servers = serversOf({ bad: { ...misbehaving, time_limit: '1 s' } });
      const pid = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'hang'), /timed out after 1000ms/);
      assert.equal(await call(servers, 'bad', 'pid'), pid);
      assert.deepEqual(JSON.parse(await call(servers, 'bad', 'taken_back')), ['hang']);
    });

    it('that hang as a whole are started anew', async () => {
      const servers = serversOf({ bad: { ...misbehaving, time_limit: '1 s' } });
      const pid = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'freeze'), /timed out/);
      const later = await eventually('another one answers', () =>
        call(servers, 'bad', 'pid').catch(() => null),
      );
      assert.notEqual(later, pid);
    });

    it('are told when a call is given up', async () => {
      const servers = serversOf({ bad: misbehaving });
      const control = new AbortController();
      const hanging = call(servers, 'bad', 'hang', {}, control.signal);
      await call(servers, 'bad', 'pid');
      control.abort();
      await assert.rejects(hanging);
      assert.deepEqual(JSON.parse(await call(servers, 'bad', 'taken_back')), ['hang']);
    });

    it('may write nonsense beside their messages', async () => {
      const servers = serversOf({ bad: misbehaving });
      assert.match(await call(servers, 'bad', 'chatter'), /done/);
      // What it writes elsewhere may come after its answer.
      for (const nonsense of ['this is no message', 'on standard error']) {
        await eventually(nonsense, () => diagnostics.some((line) => line.includes(nonsense)));
      }
    });

    it('that are given a secret can not hand it on', async () => {
      const environment = { SERVICE_TOKEN: 'tok-1234567890' };
      const servers = serversOf({ bad: { ...misbehaving, env: ['SERVICE_TOKEN'] } }, environment);
      const said = await call(servers, 'bad', 'tell_token');
      assert.equal(servers.withoutSecrets('bad', said), 'the token is [SERVICE_TOKEN]');
      assert.ok(diagnostics.every((line) => !line.includes('tok-1234567890')));
    });

    it('end with the worker, and all they have started with them', async () => {
      const servers = serversOf({ bad: misbehaving, all: everything });
      const child = Number(await call(servers, 'bad', 'start_child'));
      await call(servers, 'all', 'echo', { message: 'x' });
      assert.ok(isRunning(child));
      await servers.close();
      assert.ok(!isRunning(child));
      assert.deepEqual(childrenOf('mcp-server-everything'), []);
      await assert.rejects(servers.list('all'), /no server/);
    });
  });

  describe('at an address', () => {
    it('answer over streamable HTTP, with the headers that the environment holds', async () => {
      const server = await startHttpMcpServer();
      open.push(() => server.close());
      const servers = serversOf(
        { web: { url: server.url, headers_env: { Authorization: 'WEB_AUTH' } } },
        { WEB_AUTH: 'Bearer abc-123456' },
      );
      assert.equal(await call(servers, 'web', 'add', { a: 2, b: 3 }), '5');
      assert.deepEqual([...server.authorizations], ['Bearer abc-123456']);
      assert.equal(
        servers.withoutSecrets('web', 'abc-123456 and Bearer abc-123456'),
        '[WEB_AUTH] and [WEB_AUTH]',
      );
    });

    it('that have forgotten the session get a new one', async () => {
      const server = await startHttpMcpServer();
      open.push(() => server.close());
      const servers = serversOf({ web: { url: server.url } });
      assert.equal(await call(servers, 'web', 'add', { a: 1, b: 1 }), '2');
      server.forgetSessions();
      assert.equal(await call(servers, 'web', 'add', { a: 2, b: 2 }), '4');
    });

    it('are not reached where the guard refuses them', async () => {
      const server = await startHttpMcpServer();
      open.push(() => server.close());
      const servers = serversOf({ web: { url: server.url } }, {}, []);
      await assert.rejects(servers.list('web'), /Address not allowed: 127.0.0.1 is/);
      assert.equal(server.requests, 0);
    });

    it('that refuse the key are a sentence without it', async () => {
      const server = await startHttpMcpServer({ refuse: 'no entry for Bearer abc-123456' });
      open.push(() => server.close());
      const servers = serversOf(
        { web: { url: server.url, headers_env: { Authorization: 'WEB_AUTH' } } },
        { WEB_AUTH: 'Bearer abc-123456' },
      );
      await assert.rejects(servers.list('web'), (error: Error) => {
        assert.match(error.message, /401/);
        assert.doesNotMatch(error.message, /abc-123456/);
        return true;
      });
    });
  });

  describe('and what an agent is told of them', () => {
    const refused = 'no tool';

    it('are the tools of its allow-list, under names that every provider takes', async () => {
      const servers = serversOf({ all: everything });
      const { tools, faults } = await toolSetOf(['all/echo', 'all/get-s*', 'report_progress'], servers);
      assert.deepEqual(
        tools.map(({ name, server }) => [name, server]),
        [
          ['report_progress', null],
          ['all__echo', 'all'],
          ['all__get-structured-content', 'all'],
          ['all__get-sum', 'all'],
        ],
      );
      assert.deepEqual(faults, []);
      assert.ok(tools.every(({ input_schema }) => input_schema['type'] === 'object'));
    });

    it('and nothing else can be called', async () => {
      const servers = serversOf({ all: everything, bad: misbehaving });
      const allowed = ['all/echo', 'bad/p*'];
      assert.deepEqual(await toolNamed('all__echo', allowed, servers), { server: 'all', tool: 'echo' });
      assert.deepEqual(await toolNamed('bad__pid', allowed, servers), { server: 'bad', tool: 'pid' });
      for (const name of [
        'all__get-env',
        'bad__crash',
        'bad__p*',
        'echo',
        'report_progress',
        'other__echo',
      ]) {
        assert.equal(await toolNamed(name, allowed, servers), null, refused);
      }
      assert.equal(await toolNamed('all__echo', null, servers), null);
    });

    it('names a tool that a server does not have', async () => {
      const servers = serversOf({ all: everything });
      const { faults } = await toolSetOf(['all/echo', 'all/ecoh'], servers);
      assert.deepEqual(faults, ['all: has no tool ecoh']);
    });

    it('has a server that is not to be had as tools that say so', async () => {
      const servers = serversOf({ gone: { command: '/nowhere/at-all' } });
      const { tools, faults } = await toolSetOf(['gone/read', 'gone/x*'], servers);
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['gone__read', 'gone__unavailable'],
      );
      assert.match(tools[0]?.description ?? '', /May be unavailable/);
      assert.match(faults[0] ?? '', /^gone: cannot start the server/);
    });

    it('knows which may be called again after a crash', async () => {
      const servers = serversOf({ bad: misbehaving });
      const of = (tool: string, repeatable: string[] = []) =>
        mayRepeat({ server: 'bad', tool }, repeatable, servers);
      assert.equal(await of('pid'), true);
      assert.equal(await of('hang'), false);
      assert.equal(await of('hang', ['ha*']), true);
    });

    it('bounds how many there are', async () => {
      const many = Array.from({ length: 80 }, (_, index) => ({ name: `tool-${index}`, inputSchema: {} }));
      const { tools, faults } = await toolSetOf(['much/*'], { list: async () => many });
      assert.equal(tools.length, 64);
      assert.match(faults[0] ?? '', /^too many or too large tools for one agent, omitted: much__tool-64, /);
    });
  });

  describe('and their answers', () => {
    it('from a real file server reach an agent as they are', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'baton-mcp-'));
      open.push(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'a.txt'), 'what stands in the file');
      const servers = serversOf({ fs: { command: join(BIN, 'mcp-server-filesystem'), args: [folder] } });
      assert.match(
        await call(servers, 'fs', 'read_text_file', { path: join(folder, 'a.txt') }),
        /what stands in the file/,
      );
      const outside = await servers.call('fs', 'read_text_file', { path: '/etc/passwd' });
      assert.ok('isError' in outside && outside.isError);
    });

    it('leave out what is no text', async () => {
      const servers = serversOf({ all: everything });
      assert.match(await call(servers, 'all', 'get-tiny-image'), /\[image image\/png, \d+ bytes: omitted\]/);
    });

    it('are cut where they are large, with a note', () => {
      const { text, truncated } = answerOf('ä'.repeat(TOOL_ANSWER_BYTES), false);
      assert.ok(truncated && Buffer.byteLength(text) <= TOOL_ANSWER_BYTES);
      assert.match(text, /\[cut: 32768 bytes in all\]$/);
    });

    it('can be stored, whatever is in them', () => {
      assert.equal(answerOf('a\u0000b\ud800c', false).text, 'ab\ufffdc');
    });
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(execFileSync('cat', [`/proc/${pid}/status`]).toString());
  } catch {
    return false;
  }
}

/** Programs of this process with a name in their command line. */
function childrenOf(name: string): string[] {
  const lines = execFileSync('ps', ['-o', 'args=', '--ppid', String(process.pid)])
    .toString()
    .split('\n');
  return lines.filter((line) => line.includes(name));
}
