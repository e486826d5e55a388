import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Cli, cliWith } from './cli-process.ts';

const BOM = '\uFEFF';

describe('the command line reports', () => {
  let cli: Cli;
  let server: Server;
  let respond: RequestListener;
  /** The bodies of the requests. */
  let bodies: string[];

  beforeEach(async () => {
    bodies = [];
    respond = (_request, response) => response.end('{}');
    server = createServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        respond(request, response);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    cli = cliWith({ BATON_URL: `http://127.0.0.1:${port}`, BATON_API_KEY: 'bt_key' });
  });
  afterEach(async () => {
    await cli.cleanUp();
    server.close();
    server.closeAllConnections();
  });

  it('a name of metadata that is given twice', async () => {
    const { code, stderr } = await cli.run(['task', 'list', '--metadata', 'team=a', 'team=b']);
    assert.deepEqual([code, stderr], [2, 'baton: --metadata must not contain a name twice\n']);
    assert.equal(bodies.length, 0);
  });

  it('a value that a header cannot contain, without the value', async () => {
    const submit = ['task', 'submit', '--title', 'x', '--project', 'p'];
    const key = await cli.run([...submit, '--idempotency-key', 'ä€']);
    assert.equal(key.code, 2);
    assert.match(key.stderr, /^baton: The value for the header idempotency-key contains characters/);
    const secret = await cli.run(['whoami'], { env: { BATON_API_KEY: 'bt_\u20ac' } });
    assert.deepEqual([secret.code, secret.stderr.includes('bt_')], [2, false]);
    assert.equal(bodies.length, 0);
  });

  it('a redirect, with its target', async () => {
    respond = (_request, response) =>
      response.writeHead(301, { location: 'https://baton.example.com/api/v1/me' }).end();
    const { code, stderr } = await cli.run(['whoami']);
    assert.equal(code, 2);
    assert.match(stderr, /redirects to https:\/\/baton\.example\.com\/api\/v1\/me \(301\)\. Set BATON_URL/);
  });

  it('no byte order mark: it is removed from files and stdin', async () => {
    respond = (_request, response) => response.writeHead(500).end();
    const create = ['webhook', 'create', '--name', 'A', '--to', 'https://example.com/'];
    const path = join(cli.home, 'secret');
    writeFileSync(path, `${BOM}hush\n`);
    await cli.run([...create, '--event', 'issue.created', '--secret-file', path]);
    await cli.run([...create, '--events', '-', '--no-secret'], { input: `${BOM}[]` });
    assert.deepEqual(
      bodies.map((body) => JSON.parse(body)).map(({ secret, events }) => secret ?? events),
      ['hush', []],
    );
  });
});
