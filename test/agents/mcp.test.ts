import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
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

describe('an MCP server of the catalogue', () => {
  const open: (() => unknown)[] = [];
  let diagnostics: string[] = [];
  let traceparent: string | null = null;

  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close();
  });

  /** Creates servers from settings in the catalogue's format, with their own environment. */
  function serversOf(
    settings: Record<string, unknown>,
    environment: Record<string, string> = {},
    allow: string[] = ['127.0.0.0/8'],
  ): ToolServers {
    diagnostics = [];
    const guarded = createGuardedFetch({ guard: createAddressGuard(allow) });
    const servers = createToolServers({
      servers: new Map(
        Object.entries(settings).map(([name, setting]) => [
          name,
          serverOf(name, serverSchema.parse(setting)),
        ]),
      ),
      environment: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      isolation: NO_ISOLATION,
      fetch: guarded.fetch,
      traceparent: () => traceparent,
      onDiagnostic: (_server, line) => diagnostics.push(line),
    });
    open.push(() => guarded.close());
    open.push(() => servers.close());
    return servers;
  }
  const call = async (servers: ToolServers, server: string, tool: string, input = {}, signal?: AbortSignal) =>
    textOfResult(await servers.call(server, tool, input, signal));

  it('gets the trace of each call in `_meta`, if there is one', async () => {
    const web = await startHttpMcpServer();
    open.push(() => web.close());
    const servers = serversOf({ bad: misbehaving, web: { url: web.url } });
    const traces = [null, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'];
    for (const one of traces) {
      traceparent = one;
      assert.equal(await call(servers, 'bad', 'trace'), one ?? 'none');
      await call(servers, 'web', 'add', { a: 1, b: 1 });
    }
    traceparent = null;
    assert.deepEqual(web.traces, [undefined, traces[1]]);
  });

  describe('on standard input and output', () => {
    it('is started once, at its first use', async () => {
      const servers = serversOf({ all: everything });
      const [first, second] = await Promise.all([
        call(servers, 'all', 'echo', { message: 'one' }),
        call(servers, 'all', 'echo', { message: 'two' }),
      ]);
      assert.equal(first, 'Echo: one');
      assert.equal(second, 'Echo: two');
      assert.equal(childrenOf('mcp-server-everything').length, 1);
    });

    it('gets only the named environment variables', async () => {
      const environment = { OPENAI_API_KEY: 'sk-secret-of-the-worker', NAMED: 'yes', OTHER_THING: 'no' };
      const servers = serversOf({ all: { ...everything, env: ['NAMED'] } }, environment);
      const seen = JSON.parse(await call(servers, 'all', 'get-env'));
      assert.deepEqual(Object.keys(seen).toSorted(), ['HOME', 'NAMED', 'PATH']);
    });

    it('does not start without a named variable, and the error names it', async () => {
      const servers = serversOf({ all: { ...everything, env: ['NOT_THERE'] } });
      await assert.rejects(servers.list('all'), /NOT_THERE is not set/);
    });

    it('is reported with the reason if it cannot be started', async () => {
      const servers = serversOf({ none: { command: '/nowhere/at-all' }, ends: { command: 'false' } });
      await assert.rejects(
        servers.list('none'),
        /cannot start the server: program not found: \/nowhere\/at-all/,
      );
      await assert.rejects(servers.list('ends'), /cannot start the server: exit code 1/);
    });

    it('is restarted for the next call after it crashed in one', async () => {
      const servers = serversOf({ bad: misbehaving });
      const before = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'crash'), /the server ended \(exit code 3\)/);
      assert.notEqual(await call(servers, 'bad', 'pid'), before);
    });

    it('is restarted for the next call after it has ended between two calls', async () => {
      const servers = serversOf({ bad: misbehaving });
      const before = Number(await call(servers, 'bad', 'pid'));
      process.kill(before);
      await eventually('its end is known', () => !isRunning(before));
      // Its output is closed a moment after its end.
      await wait(200);
      assert.notEqual(Number(await call(servers, 'bad', 'pid')), before);
    });

    it('has a hanging call aborted at the time limit, while other calls proceed', async () => {
      const servers = serversOf({ bad: { ...misbehaving, time_limit: '1 s' } });
      const pid = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'hang'), /timed out after 1000ms/);
      assert.equal(await call(servers, 'bad', 'pid'), pid);
      assert.deepEqual(JSON.parse(await call(servers, 'bad', 'taken_back')), ['hang']);
    });

    it('is restarted if it does not respond at all', async () => {
      const servers = serversOf({ bad: { ...misbehaving, time_limit: '1 s' } });
      const pid = await call(servers, 'bad', 'pid');
      await assert.rejects(call(servers, 'bad', 'freeze'), /timed out/);
      const later = await eventually('a new process answers', () =>
        call(servers, 'bad', 'pid').catch(() => null),
      );
      assert.notEqual(later, pid);
    });

    it('is notified of an aborted call', async () => {
      const servers = serversOf({ bad: misbehaving });
      const control = new AbortController();
      const hanging = call(servers, 'bad', 'hang', {}, control.signal);
      await call(servers, 'bad', 'pid');
      control.abort();
      await assert.rejects(hanging);
      assert.deepEqual(JSON.parse(await call(servers, 'bad', 'taken_back')), ['hang']);
    });

    it('can write other lines between its messages', async () => {
      const servers = serversOf({ bad: misbehaving });
      assert.match(await call(servers, 'bad', 'chatter'), /done/);
      // A line on standard error can arrive after the response.
      for (const nonsense of ['this is no message', 'on standard error']) {
        await eventually(nonsense, () => diagnostics.some((line) => line.includes(nonsense)));
      }
    });

    it('cannot pass a secret on', async () => {
      const environment = { SERVICE_TOKEN: 'tok-1234567890' };
      const servers = serversOf({ bad: { ...misbehaving, env: ['SERVICE_TOKEN'] } }, environment);
      const output = await call(servers, 'bad', 'tell_token');
      assert.equal(servers.withoutSecrets('bad', output), 'the token is [SERVICE_TOKEN]');
      assert.ok(diagnostics.every((line) => !line.includes('tok-1234567890')));
      await call(servers, 'bad', 'tell_token_late');
      const long = () => diagnostics.filter((line) => line.includes('xxx'));
      await eventually('both long lines are read', () => long().length === 2);
      assert.ok(long().every((line) => line.length <= 2_000 && !line.includes('tok-')));
    });

    it('ends with the worker, child processes included', async () => {
      const servers = serversOf({ bad: misbehaving, all: everything });
      const child = Number(await call(servers, 'bad', 'start_child'));
      await call(servers, 'all', 'echo', { message: 'x' });
      assert.ok(isRunning(child));
      await servers.close();
      await eventually('the child has ended', () => !isRunning(child));
      await eventually('the other server has ended', () => childrenOf('mcp-server-everything').length === 0);
      await assert.rejects(servers.list('all'), /no server/);
    });
  });

  describe('at a URL', () => {
    it('responds over streamable HTTP, with headers from the environment', async () => {
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

    it('gets a new session after it lost the old one', async () => {
      const server = await startHttpMcpServer();
      open.push(() => server.close());
      const servers = serversOf({ web: { url: server.url } });
      assert.equal(await call(servers, 'web', 'add', { a: 1, b: 1 }), '2');
      server.forgetSessions();
      assert.equal(await call(servers, 'web', 'add', { a: 2, b: 2 }), '4');
    });

    for (const status of [200, 401, 503]) {
      it(`is connected again after it rejected the first connection with ${status} and a JSON-RPC error`, async () => {
        const server = await startHttpMcpServer();
        open.push(() => server.close());
        const servers = serversOf({ web: { url: server.url } });
        server.initializeError = { status, code: -32603, message: 'still starting' };
        await assert.rejects(call(servers, 'web', 'add', { a: 1, b: 1 }));
        server.initializeError = null;
        assert.equal(await call(servers, 'web', 'add', { a: 1, b: 2 }), '3');
      });
    }

    it('is not called if the address guard blocks it', async () => {
      const server = await startHttpMcpServer();
      open.push(() => server.close());
      const servers = serversOf({ web: { url: server.url } }, {}, []);
      await assert.rejects(servers.list('web'), /Address not allowed: 127.0.0.1 is/);
      assert.equal(server.requests, 0);
    });

    it('that rejects the key is reported without the key', async () => {
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

  describe('in the tool set of an agent', () => {
    const refused = 'no tool';

    it('provides the tools of the allow-list, with names that every provider accepts', async () => {
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

    it('provides no other callable tool', async () => {
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

    it('is named if it lacks a listed tool', async () => {
      const servers = serversOf({ all: everything });
      const { faults } = await toolSetOf(['all/echo', 'all/ecoh'], servers);
      assert.deepEqual(faults, ['all: has no tool ecoh']);
    });

    it('has placeholder tools if it is unavailable', async () => {
      const servers = serversOf({ gone: { command: '/nowhere/at-all' } });
      const { tools, faults } = await toolSetOf(['gone/read', 'gone/x*'], servers);
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['gone__read', 'gone__unavailable'],
      );
      assert.match(tools[0]?.description ?? '', /May be unavailable/);
      assert.match(faults[0] ?? '', /^gone: cannot start the server/);
    });

    it('states which tools can be repeated after a crash', async () => {
      const servers = serversOf({ bad: misbehaving });
      const of = (tool: string, repeatable: string[] = []) =>
        mayRepeat({ server: 'bad', tool }, repeatable, servers);
      assert.equal(await of('pid'), true);
      assert.equal(await of('hang'), false);
      assert.equal(await of('hang', ['ha*']), true);
    });

    it('provides a limited number of tools', async () => {
      const many = Array.from({ length: 80 }, (_, index) => ({ name: `tool-${index}`, inputSchema: {} }));
      const { tools, faults } = await toolSetOf(['much/*'], { list: async () => many });
      assert.equal(tools.length, 64);
      assert.match(faults[0] ?? '', /^too many or too large tools for one agent, omitted: much__tool-64, /);
    });
  });

  describe('in its results', () => {
    it('passes text from real files on unchanged', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'baton-mcp-'));
      open.push(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'a.txt'), 'the content of the file');
      const servers = serversOf({ fs: { command: join(BIN, 'mcp-server-filesystem'), args: [folder] } });
      assert.match(
        await call(servers, 'fs', 'read_text_file', { path: join(folder, 'a.txt') }),
        /the content of the file/,
      );
      const outside = await servers.call('fs', 'read_text_file', { path: '/etc/passwd' });
      assert.ok('isError' in outside && outside.isError);
    });

    it('has content other than text omitted', async () => {
      const servers = serversOf({ all: everything });
      assert.match(await call(servers, 'all', 'get-tiny-image'), /\[image image\/png, \d+ bytes: omitted\]/);
    });

    it('has a large text cut, with a note', () => {
      const { text, truncated } = answerOf('ä'.repeat(TOOL_ANSWER_BYTES), false);
      assert.ok(truncated && Buffer.byteLength(text) <= TOOL_ANSWER_BYTES);
      assert.match(text, /\[cut: 32768 bytes in all\]$/);
    });

    it('can use any characters', () => {
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

/** Returns the command lines of this process's children that contain a name. */
function childrenOf(name: string): string[] {
  const lines = execFileSync('ps', ['-o', 'args=', '--ppid', String(process.pid)])
    .toString()
    .split('\n');
  return lines.filter((line) => line.includes(name));
}
