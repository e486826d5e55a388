import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { connectToRemote } from '../../src/agents/a2a-client.ts';
import { messageWith } from '../support/a2a-client.ts';

/** A request of JSON-RPC. */
type Asked = { id: string; method: string };

const KEY = 'Bearer scout-key';

describe('a remote agent of version 0.3 of the A2A protocol', () => {
  let server: Server;
  let url: string;
  /** The address that the card contains. */
  let shownUrl: string;
  const requests: { path: string; authorization: string | undefined; body: Asked | null }[] = [];
  before(async () => {
    server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());
  beforeEach(() => {
    requests.length = 0;
    shownUrl = url;
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === 'POST' ? ((await json(request)) as Asked) : null;
    requests.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(body === null ? cardOf(shownUrl) : answerTo(body.id)));
  }
  const cardOf = (place: string) => ({
    protocolVersion: '0.3.0',
    name: 'Scout',
    description: 'Looks around',
    url: `${place}/rpc`,
    preferredTransport: 'JSONRPC',
    version: '1',
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const answerTo = (id: string) => ({
    jsonrpc: '2.0',
    id,
    result: {
      kind: 'message',
      role: 'agent',
      messageId: 'm1',
      parts: [{ kind: 'text', text: 'Forty-two.' }],
    },
  });
  const connect = (address: string) =>
    connectToRemote(
      { url: address, headersEnv: { Authorization: 'SCOUT_AUTH' } },
      { environment: { SCOUT_AUTH: KEY }, fetch },
      AbortSignal.timeout(10_000),
    );

  for (const path of ['', '/.well-known/agent-card.json'])
    it(`gets messages in its own version, with the headers of the catalogue, by the URL ${path || '/'}`, async () => {
      const { client, card } = await connect(`${url}${path}`);
      assert.equal(card.name, 'Scout');
      const answer = await client.sendMessage(messageWith('Where is it?'));
      assert.match(JSON.stringify(answer), /Forty-two\./);
      const [asked] = requests.filter(({ body }) => body !== null);
      assert.equal(asked?.path, '/rpc');
      assert.equal(asked?.body?.method, 'message/send');
      assert.deepEqual(new Set(requests.map(({ authorization }) => authorization)), new Set([KEY]));
    });

  it('does not get the headers of the catalogue if its card names another origin', async () => {
    shownUrl = url.replace('127.0.0.1', 'localhost');
    const { client } = await connect(url);
    await client.sendMessage(messageWith('Where is it?'));
    const [read, asked] = requests;
    assert.deepEqual([read?.path, read?.authorization], ['/.well-known/agent-card.json', KEY]);
    assert.deepEqual([asked?.path, asked?.authorization], ['/rpc', undefined]);
  });
});
