import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startWorld, type World } from '../support/world.ts';
import { fuzz } from './schemathesis.ts';

type Whole = { status: number; type: string; body: string };
/** How an answer of the service is spoilt on its way; `credential` is what is sent in the place of the caller's. */
type Fault = { what: string; told: RegExp; credential?: 'always the key'; spoil(answer: Whole): Whole };

const FAULTS: readonly Fault[] = [
  { what: 'a 500', told: /Server error/, spoil: (answer) => ({ ...answer, status: 500 }) },
  {
    what: 'a status that the document does not name',
    told: /Undocumented status code/,
    spoil: (answer) => ({ ...answer, status: 418 }),
  },
  {
    what: 'a type that the document does not name',
    told: /Undocumented Content-Type/,
    spoil: (answer) => ({ ...answer, type: 'text/plain' }),
  },
  {
    what: 'another shape than the document says',
    told: /Response violates schema/,
    spoil: (answer) => ({ ...answer, body: answer.body.replace('"data"', '"date"') }),
  },
  {
    what: 'an answer to whoever asks',
    told: /without authentication/,
    credential: 'always the key',
    spoil: (answer) => answer,
  },
];

/** A check that can't fail shows nothing: the same questions are asked of a service with one fault. */
describe('asking every endpoint', function () {
  this.timeout(300_000);
  let world: World;
  before(async () => {
    world = await startWorld({
      worker: false,
      environment: { RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '1000000' },
    });
  });
  after(async () => await world?.close());

  const ask = async (url: string) =>
    await fuzz({
      url,
      asker: { scheme: 'apiKey', credential: world.installation.api_key },
      only: ['listProjects'],
      phases: ['coverage', 'fuzzing'],
      examples: 3,
      seed: 1,
      minutes: 4,
      sendTo: 'http://127.0.0.1:9',
    });

  it('finds nothing where there is nothing', async () => {
    const { passed, output } = await ask(world.api.url);
    assert.ok(passed, output);
  });

  for (const fault of FAULTS) {
    it(`finds ${fault.what}`, async () => {
      const { server, url } = await spoilt(world, fault);
      try {
        const { passed, output } = await ask(url);
        assert.equal(passed, false, output);
        assert.match(output, fault.told);
      } finally {
        server.close();
      }
    });
  }
});

/** The service with one fault: answers about projects are spoilt where they were a success, all else is as it is. */
async function spoilt(world: World, fault: Fault): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { 'x-api-key': given } = request.headers;
    const key = fault.credential === 'always the key' ? world.installation.api_key : given;
    const headers = key === undefined ? {} : { 'X-API-Key': String(key) };
    fetch(`${world.api.url}${request.url}`, { method: request.method ?? 'GET', headers })
      .then(async (received) => {
        const type = received.headers.get('content-type') ?? 'text/plain';
        const whole = { status: received.status, type, body: await received.text() };
        const isTouched = request.url?.startsWith('/api/v1/projects') && whole.status === 200;
        const { status, type: said, body } = isTouched ? fault.spoil(whole) : whole;
        response.writeHead(status, { 'Content-Type': said }).end(body);
      })
      // TRACE can't be passed on.
      .catch(() => response.writeHead(405).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
