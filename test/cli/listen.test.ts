import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { keyWith } from '../api/keys.ts';
import { eventually } from '../support/eventually.ts';
import { deleteWebhooks } from '../support/webhooks.ts';
import { PASSWORD, useOwnWorld } from '../support/world.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { type Cli, cliWith } from './cli-process.ts';
import { deliveryOf, publish, readiness, webhooksOf } from './listening.ts';

type InProcess = ReturnType<Cli['start']>;
/** A running `baton listen`, with the output at its start. */
type Listening = InProcess & { id: string; secret: string };

describe('baton listen', function () {
  // The service may not call any address of this machine.
  const world = useOwnWorld({ worker: false, deliveryWorker: true, environment: { OUTBOUND_ALLOW: '' } });
  let cli: Cli;
  let local: Receiver;
  let relay: Relay | null = null;

  beforeEach(async () => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
    local = await startReceiver();
  });
  afterEach(async () => {
    await cli.cleanUp();
    await local.close();
    await relay?.close();
    relay = null;
    await deleteWebhooks(world);
  });

  const begin = async (...more: string[]): Promise<Listening> => {
    const args = more.includes('--forward') ? more : ['--forward', `${local.url}/hook`, ...more];
    const running = cli.start(['listen', ...args]);
    return { ...running, ...(await readiness(running)) };
  };
  const stop = async (running: InProcess): Promise<void> => {
    running.stop();
    assert.equal((await running.ended).code, 0);
  };
  const signed = (secret: string, { body }: ReceivedRequest) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

  it('posts deliveries to an address that the service cannot reach, with their bytes and signature', async () => {
    local.answering((_request, response) => {
      response.writeHead(201, { 'content-type': 'text/plain', 'x-local': 'yes' }).end('thanks, ü');
      return undefined;
    });
    const listening = await begin('--name', 'My machine');
    await publish(world, 'Größe "1" \\ 2');
    const [request] = await local.receives(1);
    assert.ok(request);
    const { attempts, status, response_status: code } = await deliveryOf(world, listening.id, 'succeeded');
    const [attempt] = attempts;
    assert.equal(request.headers['x-service-signature'], signed(listening.secret, request));
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/hook');
    assert.equal(request.headers.host, `127.0.0.1:${local.port}`);
    assert.equal(request.body.toString(), attempt.request.body);
    const sent = Object.entries(attempt.request.headers).map(([name, value]) => [name.toLowerCase(), value]);
    for (const [name, value] of sent) assert.equal(request.headers[name as string], value, name as string);
    assert.deepEqual([status, code, attempt.failure, attempt.address], ['succeeded', 201, null, null]);
    assert.equal(attempt.request.url, `${local.url}/hook`);
    assert.equal(attempt.response.body, 'thanks, ü');
    assert.equal(attempt.response.headers['x-local'], 'yes');
    const delivered = String(request.headers['x-service-delivery']);
    await listening.says(new RegExp(`issue\\.created +${delivered} +201`));
    await stop(listening);
    assert.deepEqual(await webhooksOf(world), []);
  });

  it('is shown as listening by its webhook, and the secret is shown nowhere else', async () => {
    const listening = await begin('--events', 'sprint.*');
    const { json, text } = await world.send('GET', `/api/v1/webhooks/${listening.id}`);
    assert.deepEqual([json.listening, json.has_secret, json.url], [true, true, `${local.url}/hook`]);
    assert.deepEqual(
      json.events.map(({ event }: { event: string }) => event),
      ['sprint.started', 'sprint.completed'],
    );
    assert.ok(!text.includes(listening.secret) && !world.logged().includes(listening.secret));
    await publish(world);
    await publish(world, 'A sprint', 'sprint.started');
    await local.receives(1);
    await stop(listening);
    assert.deepEqual(
      local.requests.map(({ headers }) => headers['x-service-event']),
      ['sprint.started'],
    );
  });

  it('reports failures, which are retried', async () => {
    local.answering(500);
    const listening = await begin();
    await publish(world);
    const { attempts, next_attempt_at: next } = await deliveryOf(world, listening.id, 'retrying');
    assert.deepEqual([attempts[0].failure, attempts[0].response.status], ['status', 500]);
    assert.ok(next);
    await listening.says(/issue\.created +\S+ +500/);
    local.answering(204);
    const { id } = (await world.send('GET', `/api/v1/webhooks/${listening.id}/deliveries`)).json.data[0];
    assert.equal((await world.send('POST', `/api/v1/deliveries/${id}/retry`)).status, 202);
    await deliveryOf(world, listening.id, 'succeeded');
    await stop(listening);
  });

  it('reports a refused connection to the local address', async () => {
    await local.close();
    const listening = await begin();
    await publish(world);
    const { attempts } = await deliveryOf(world, listening.id, 'retrying');
    assert.deepEqual([attempts[0].failure, attempts[0].response], ['connection_failed', null]);
    assert.equal(attempts[0].message, 'Connection refused');
    await listening.says(/connection_failed: Connection refused/);
    await stop(listening);
  });

  it('truncates a long response, and does not follow a redirect', async () => {
    local.answering((_request, response) => {
      response.writeHead(302, { location: 'http://example.com/' }).end('x'.repeat(100_000));
      return undefined;
    });
    const listening = await begin();
    await publish(world);
    const { attempts } = await deliveryOf(world, listening.id, 'retrying');
    const [{ failure, response }] = attempts;
    assert.deepEqual([failure, response.status, response.truncated], ['redirect', 302, true]);
    assert.equal(response.body.length, 65_536);
    await stop(listening);
  });

  it('reports at most 200 headers of a response', async () => {
    local.answering((_request, response) => {
      for (let number = 0; number < 250; number += 1) response.setHeader(`x-${number}`, 'yes');
      response.writeHead(200).end('thanks');
      return undefined;
    });
    const listening = await begin();
    await publish(world);
    const { attempts } = await deliveryOf(world, listening.id, 'succeeded');
    const { status, headers, body } = attempts[0].response;
    assert.deepEqual([status, body, Object.keys(headers).length], [200, 'thanks', 200]);
    await stop(listening);
  });

  it('also receives tests', async () => {
    const listening = await begin();
    const { json } = await world.send('POST', `/api/v1/webhooks/${listening.id}/test`, {
      body: { event: 'user.joined' },
    });
    assert.deepEqual([json.failure, json.response.status], [null, 204]);
    assert.equal(local.requests[0]?.headers['x-service-event'], 'user.joined');
    await stop(listening);
  });

  it('posts a burst of deliveries, each once', async () => {
    const listening = await begin();
    const events = Array.from({ length: 120 }, (_, index) => ({
      event: 'issue.created',
      data: { issue: { id: `i-${index}` } },
    }));
    await world.send('POST', '/api/v1/events', { body: { events } });
    const requests = await local.receives(120);
    const ids = new Set(requests.map(({ headers }) => headers['x-service-delivery']));
    assert.equal(ids.size, 120);
    await eventually('all 120 deliveries have succeeded', async () => {
      const path = `/api/v1/webhooks/${listening.id}/deliveries?status=succeeded&limit=200`;
      return (await world.send('GET', path)).json.data.length === 120;
    });
    await stop(listening);
    assert.equal(local.requests.length, 120);
  });

  it('prints JSON lines for scripts', async () => {
    const running = cli.spawn(['--json', 'listen', '--forward', `${local.port}/hook`]);
    await running.says(/\n/);
    await publish(world);
    await running.says(/"type":"request"/);
    running.child.kill('SIGINT');
    const { code, stdout } = await running.ended;
    assert.equal(code, 0);
    const [ready, request] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(ready.webhook.url, `http://localhost:${local.port}/hook`);
    assert.match(ready.secret, /^[0-9a-f]{64}$/);
    assert.deepEqual([request.event, request.status, request.failure], ['issue.created', 204, null]);
  });

  it('works for a signed-in person', async () => {
    const login = ['login', '--email', world.installation.admin_email, '--password-stdin'];
    delete cli.env['BATON_API_KEY'];
    assert.equal((await cli.run(login, { input: `${PASSWORD}\n` })).code, 0);
    const running = cli.start(['listen', '--forward', local.url]);
    await running.says(/Ready/);
    await publish(world);
    await local.receives(1);
    await stop(running);
  });

  it('reconnects after a lost connection, and posts nothing twice', async () => {
    relay = await startRelay(world.api.url);
    cli.env.BATON_URL = relay.url;
    let answerNow = () => {};
    local.answering((_request, response) => {
      answerNow = () => void response.writeHead(200).end('late');
      return undefined;
    });
    const listening = await begin();
    await publish(world);
    await local.receives(1);
    relay.cut();
    await listening.says(/The live channel is unreachable.*; retrying/);
    answerNow();
    await listening.says(/Listening again/);
    const { attempts } = await deliveryOf(world, listening.id, 'succeeded');
    assert.deepEqual([attempts.length, attempts[0].response.body], [1, 'late']);
    assert.equal(local.requests.length, 1);
    local.answering(204);
    await publish(world);
    await local.receives(2);
    await stop(listening);
  });

  it('reports that failures have disabled the webhook', async () => {
    local.answering(500);
    const listening = await begin();
    for (let count = 0; count < 10; count += 1) await publish(world);
    const [, command = ''] = await listening.says(/disabled the webhook\. Enable it with `baton (.*)`/);
    local.answering(204);
    assert.equal((await cli.run(command.split(' '))).code, 0);
    await publish(world);
    await local.receives(11);
    await stop(listening);
  });

  it('ends if its webhook is deleted', async () => {
    const listening = await begin();
    await world.send('DELETE', `/api/v1/webhooks/${listening.id}`);
    const { code, stderr } = await listening.ended;
    assert.equal(code, 5);
    assert.match(stderr, /The webhook no longer exists/);
  });

  describe('fails with', () => {
    it('an invalid address', async () => {
      const { code, stderr } = await cli.run(['listen', '--forward', 'ftp://localhost/']);
      assert.equal(code, 2);
      assert.match(stderr, /--forward: "ftp:\/\/localhost\/" is not an http or https address/);
    });

    it('a key without the permission', async () => {
      cli.env.BATON_API_KEY = await keyWith(world, ['webhooks:read']);
      const { code, stderr } = await cli.run(['listen', '--forward', local.url]);
      assert.equal(code, 5);
      assert.match(stderr, /webhooks:write/);
    });

    it('an unreachable server', async () => {
      cli.env.BATON_URL = 'http://127.0.0.1:9';
      assert.equal((await cli.run(['listen', '--forward', local.url])).code, 6);
    });
  });
});
