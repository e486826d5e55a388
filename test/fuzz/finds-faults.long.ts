import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startWorld, type World } from '../support/world.ts';
import { fuzz, type Fuzzing } from './schemathesis.ts';

type Whole = { status: number; type: string; body: string; headers?: Record<string, string> };
/** A modification of a response; `credential` replaces the credential of the caller. */
type Fault = {
  what: string;
  reported: RegExp;
  credential?: 'always the key';
  modify(response: Whole): Whole;
};

/** The response while a dependency is late. */
const LATE: Whole = {
  status: 503,
  type: 'application/problem+json',
  body: JSON.stringify({ status: 503, code: 'unavailable' }),
  headers: { 'Retry-After': '0', 'X-Request-Id': 'late' },
};

const FAULTS: readonly Fault[] = [
  { what: 'a 500', reported: /Server error/, modify: (response) => ({ ...response, status: 500 }) },
  { what: 'a 503 that does not pass', reported: /Server error/, modify: () => LATE },
  {
    what: 'an undocumented status',
    reported: /Undocumented status code/,
    modify: (response) => ({ ...response, status: 418 }),
  },
  {
    what: 'an undocumented content type',
    reported: /Undocumented Content-Type/,
    modify: (response) => ({ ...response, type: 'text/plain' }),
  },
  {
    what: 'a body that violates its schema',
    reported: /Response violates schema/,
    modify: (response) => ({ ...response, body: response.body.replace('"data"', '"date"') }),
  },
  {
    what: 'a response without authentication',
    reported: /without authentication/,
    credential: 'always the key',
    modify: (response) => response,
  },
];

/** Shows that the checks can fail: the same requests are sent to a service with one fault. */
describe('the fuzzer', function () {
  this.timeout(300_000);
  let world: World;
  before(async () => {
    world = await startWorld({
      worker: false,
      environment: { RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '1000000' },
    });
  });
  after(async () => await world?.close());

  const ask = async (url: string, selection: Partial<Fuzzing> = {}) =>
    await fuzz({
      url,
      caller: { scheme: 'apiKey', credential: world.installation.api_key },
      only: ['listProjects'],
      phases: ['coverage', 'fuzzing'],
      examples: 3,
      seed: 1,
      minutes: 4,
      sendTo: 'http://127.0.0.1:9',
      ...selection,
    });

  it('finds no fault in the unmodified service', async () => {
    const { passed, output } = await ask(world.api.url);
    assert.ok(passed, output);
  });

  it('accepts that the log of a deleted webhook stays readable', async () => {
    const { passed, output } = await ask(world.api.url, {
      only: ['createWebhook', 'deleteWebhook', 'listDeliveries'],
      phases: ['stateful'],
      examples: 60,
    });
    assert.ok(passed, output);
  });

  it('repeats requests while a dependency is late', async () => {
    let requests = 0;
    const modify = (response: Whole) => (requests++ % 2 === 0 ? LATE : response);
    const { server, url } = await startFaultyProxy(world, { modify });
    try {
      const { passed, output, repeated } = await ask(url, { phases: ['fuzzing'] });
      assert.ok(passed, output);
      assert.ok(repeated.length > 0 && repeated.every((id) => id === 'late'));
    } finally {
      server.close();
    }
  });

  for (const fault of FAULTS) {
    it(`finds ${fault.what}`, async () => {
      const { server, url } = await startFaultyProxy(world, fault);
      try {
        const { passed, output } = await ask(url);
        assert.equal(passed, false, output);
        assert.match(output, fault.reported);
      } finally {
        server.close();
      }
    });
  }
});

/** Starts a proxy to the service that modifies successful responses about projects. */
async function startFaultyProxy(
  world: World,
  fault: Pick<Fault, 'modify' | 'credential'>,
): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { 'x-api-key': given } = request.headers;
    const key = fault.credential === 'always the key' ? world.installation.api_key : given;
    const headers = key === undefined ? {} : { 'X-API-Key': String(key) };
    fetch(`${world.api.url}${request.url}`, { method: request.method ?? 'GET', headers })
      .then(async (received) => {
        const type = received.headers.get('content-type') ?? 'text/plain';
        const whole = { status: received.status, type, body: await received.text() };
        const isTouched = request.url?.startsWith('/api/v1/projects') && whole.status === 200;
        const sent: Whole = isTouched ? fault.modify(whole) : whole;
        response.writeHead(sent.status, { 'Content-Type': sent.type, ...sent.headers }).end(sent.body);
      })
      // TRACE cannot be forwarded.
      .catch(() => response.writeHead(405).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
