import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/common/free-port.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { eventually } from '../support/eventually.ts';
import { proxyProgram } from './proxy-program.ts';
import { SIGN_INS } from './sign-ins.ts';

const caddyfile = readFileSync(inCheckout('deploy', 'compose', 'Caddyfile'), 'utf8');
const SIGN_INS_PER_MINUTE = 3;
const HANDSHAKES = 4;
const CHANNEL_REQUESTS = 12;

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; text: string };

const built = proxyProgram();
if (built !== null)
  describe('the proxy of the compose file', () => {
    const program: string = built;
    let folder: string;
    let upstream: Server;
    let url: string;
    const running: ChildProcess[] = [];
    let lastAddress = 1;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'baton-caddy-'));
      upstream = createServer(({ url: path, headers }, response) =>
        response.end(JSON.stringify({ path, headers })),
      );
      await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
      url = await start({
        PROXY_SIGN_INS_PER_MINUTE: String(SIGN_INS_PER_MINUTE),
        PROXY_HANDSHAKES_PER_10_S: String(HANDSHAKES),
        PROXY_CHANNEL_REQUESTS_PER_10_S: String(CHANNEL_REQUESTS),
      });
    });

    after(async () => {
      await Promise.all(
        running.map(async (child) => {
          if (child.kill()) await once(child, 'exit');
        }),
      );
      upstream?.close();
      if (folder) rmSync(folder, { recursive: true, force: true });
    });

    /** Starts Caddy with the file, in front of the upstream instead of the processes. */
    async function start(environment: Record<string, string>): Promise<string> {
      const port = await freePort();
      const { port: to } = upstream.address() as AddressInfo;
      const text = caddyfile.replaceAll(/dynamic a \w+ 3000 \{[^}]*\}/g, `to 127.0.0.1:${to}`);
      const path = join(folder, `Caddyfile-${port}`);
      writeFileSync(path, text);
      const address = `http://localhost:${port}`;
      const env = { HOME: folder, BASE_URL: address, ...environment };
      execFileSync(program, ['validate', '--config', path, '--adapter', 'caddyfile'], { env, stdio: 'pipe' });
      const child = spawn(program, ['run', '--config', path, '--adapter', 'caddyfile'], {
        env,
        stdio: 'ignore',
      });
      running.push(child);
      await eventually(
        'Caddy answers',
        async () => (await send(address, 'GET', '/').catch(() => null)) !== null,
      );
      return address;
    }

    /** An address of this machine that has sent nothing yet. */
    const newAddress = () => `127.0.1.${++lastAddress}`;

    async function send(
      to: string,
      method: string,
      path: string,
      { from = '127.0.0.1', headers = {} }: { from?: string; headers?: Record<string, string> } = {},
    ): Promise<Answer> {
      const { port } = new URL(to);
      const all = { Host: `localhost:${port}`, ...headers };
      const sent = request({
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: all,
        localAddress: from,
        agent: false,
      });
      sent.end();
      const [response] = await once(sent, 'response');
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      return {
        status: response.statusCode,
        headers: response.headers,
        text: Buffer.concat(chunks).toString(),
      };
    }
    const statuses = async (count: number, method: string, path: string, from: string) => {
      const found: number[] = [];
      for (let sent = 0; sent < count; sent += 1)
        found.push((await send(url, method, path, { from })).status);
      return found;
    };

    it('passes on the address that it sees, and no other', async () => {
      const from = newAddress();
      const headers = { 'X-Forwarded-For': '198.51.100.1', 'X-Real-IP': '198.51.100.1' };
      const { text } = await send(url, 'GET', '/api/v1/tasks', { from, headers });
      assert.equal(JSON.parse(text).headers['x-forwarded-for'], from);
      assert.match(JSON.parse(text).headers.host, /^localhost:\d+$/);
    });

    it('limits sign-ins of an address more strictly than other requests, and says so as the service does', async () => {
      const from = newAddress();
      const [method, path] = SIGN_INS[0] ?? ['', ''];
      const found = await statuses(SIGN_INS_PER_MINUTE + 1, method, path, from);
      assert.deepEqual(found, [...Array.from({ length: SIGN_INS_PER_MINUTE }, () => 200), 429]);
      const refused = await send(url, method, path, { from });
      assert.equal(refused.headers['content-type'], 'application/problem+json');
      assert.ok(Number(refused.headers['retry-after']) > 0);
      const { code, status } = JSON.parse(refused.text);
      assert.deepEqual([code, status], ['rate_limited', 429]);
      for (const [other, at] of [
        ['GET', '/api/v1/session'],
        ['GET', '/api/v1/tasks'],
        ['POST', '/api/v1/tasks'],
      ] as const)
        assert.equal((await send(url, other, at, { from })).status, 200, at);
      assert.equal(
        (await send(url, method, path, { from: newAddress() })).status,
        200,
        'others are not touched',
      );
    });

    it('limits everything that the service counts as a sign-in', async () => {
      // The API accepts a slash at the end, too.
      const withSlash = SIGN_INS.map(([method, path]) => [method, `${path}/`] as const);
      for (const [method, path] of [...SIGN_INS, ...withSlash, ['GET', '/api/v1/openid/sign-in'] as const]) {
        const answers = await statuses(SIGN_INS_PER_MINUTE + 1, method, path, newAddress());
        assert.equal(answers.at(-1), 429, `${method} ${path}`);
      }
    });

    it('limits new connections to the live channel, not the requests of those that exist', async () => {
      const from = newAddress();
      const begin = '/ws?EIO=4&transport=polling';
      const found = await statuses(HANDSHAKES + 1, 'GET', begin, from);
      assert.equal(found.at(-1), 429);
      const session = await statuses(HANDSHAKES + 1, 'POST', `${begin}&sid=a-Bc_1`, from);
      assert.deepEqual(new Set(session), new Set([200]));
    });

    it('counts a request as a new connection if it only looks like one of a session', async () => {
      const polling = 'EIO=4&transport=polling';
      for (const query of [
        'token=x&sid=abc',
        `${polling}&sid=`,
        `${polling}&sid=abc&sid=`,
        `${polling}&sid=a%00`,
      ]) {
        const found = await statuses(HANDSHAKES + 1, 'GET', `/ws?${query}`, newAddress());
        assert.equal(found.at(-1), 429, query);
      }
    });

    it('limits requests of sessions, since anybody can invent one', async () => {
      const from = newAddress();
      const path = '/ws?EIO=4&transport=polling&sid=abc';
      const found = await statuses(CHANNEL_REQUESTS + 1, 'GET', path, from);
      assert.deepEqual([found.indexOf(429), found.length], [CHANNEL_REQUESTS, CHANNEL_REQUESTS + 1]);
      assert.equal((await send(url, 'GET', '/api/v1/tasks', { from })).status, 200);
    });

    it('limits all requests of an address', async () => {
      const narrow = await start({ PROXY_REQUESTS_PER_SECOND: '1' });
      const from = newAddress();
      const all = await Promise.all(Array.from({ length: 40 }, () => send(narrow, 'GET', '/', { from })));
      const found = new Set(all.map(({ status }) => status));
      assert.deepEqual(found, new Set([200, 429]));
      assert.equal((await send(narrow, 'GET', '/', { from: newAddress() })).status, 200);
    });
  });
