import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** A message of a client, as it came. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read messages of every shape
export type Said = any;

/** A client's connection, with what to say to it. */
export type Peer = {
  /** Sends an object. */
  say(message: object): void;
  /** Ends in order, with a code and its reason. */
  end(status: number, reason: string): void;
  /** Cuts the line. */
  cut(): void;
  /** From now on it neither reads nor answers, as if its machine had vanished. */
  freeze(): void;
};

/** A server whose channel and requests do what a test tells them. */
export type FakeChannel = {
  url: string;
  /** Messages of all connections, oldest first. */
  said: Said[];
  /** Tokens that upgrades came with. */
  tokens: (string | undefined)[];
  /** Answers requests; those for tokens are answered without it. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  onMessage: (message: Said, peer: Peer) => void;
  /** What the next upgrades are refused with; null: they are taken. */
  refuses: { status: number; body: string } | null;
  /** How long tokens live, in seconds; and the status of what answers who asks for one. */
  tokenSeconds: number;
  tokenStatus: number;
  tokensMade(): number;
  /** Pings of all connections so far. */
  pings(): number;
  close(): Promise<void>;
};

export async function startFakeChannel(): Promise<FakeChannel> {
  const sockets = new WebSocketServer({ noServer: true });
  let made = 0;
  let pings = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url !== '/api/v1/tokens') return fake.onRequest(request, response);
    const expires = new Date(Date.now() + fake.tokenSeconds * 1_000).toISOString();
    const answer = { token: `token-${++made}`, token_type: 'Bearer', expires_at: expires };
    response.writeHead(fake.tokenStatus, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.on('upgrade', (request, socket, head) => {
    fake.tokens.push(request.headers.authorization?.replace('Bearer ', ''));
    if (fake.refuses !== null) {
      const { status, body } = fake.refuses;
      return socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    }
    return sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('ping', () => (pings += 1));
      client.on('message', (data) => {
        const message: Said = JSON.parse((data as Buffer).toString());
        fake.said.push(message);
        fake.onMessage(message, peerOf(client));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeChannel = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    said: [],
    tokens: [],
    onRequest: (_request, response) => response.writeHead(404).end(),
    onMessage: () => {},
    refuses: null,
    tokenSeconds: 900,
    tokenStatus: 201,
    tokensMade: () => made,
    pings: () => pings,
    async close() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

function peerOf(client: WebSocket): Peer {
  return {
    say: (message) => client.send(JSON.stringify(message)),
    end: (status, reason) => client.close(status, reason),
    cut: () => client.terminate(),
    freeze: () => client.pause(),
  };
}
