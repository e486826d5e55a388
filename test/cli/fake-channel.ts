import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** A received message of a client. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read messages of every shape
export type ClientMessage = any;

/** A connection of a client. */
export type Peer = {
  /** Sends an object. */
  send(message: object): void;
  /** Closes the connection with a code and its reason. */
  end(status: number, reason: string): void;
  /** Terminates the connection. */
  cut(): void;
  /** Stops reading and responding, as if the machine had vanished. */
  freeze(): void;
};

/** A server whose channel and HTTP responses are defined by a test. */
export type FakeChannel = {
  url: string;
  /** Messages of all connections, oldest first. */
  messages: ClientMessage[];
  /** The tokens of the upgrade requests. */
  tokens: (string | undefined)[];
  /** Responds to HTTP requests, except requests for tokens. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  onMessage: (message: ClientMessage, peer: Peer) => void;
  /** The response to upgrades if they are rejected; null to accept them. */
  refuses: { status: number; body: string } | null;
  /** The lifetime of tokens in seconds, and the status of token responses. */
  tokenSeconds: number;
  tokenStatus: number;
  issuedTokens(): number;
  /** Pings of all connections so far. */
  pings(): number;
  close(): Promise<void>;
};

export async function startFakeChannel(): Promise<FakeChannel> {
  const sockets = new WebSocketServer({ noServer: true });
  let issued = 0;
  let pings = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url !== '/api/v1/tokens') return fake.onRequest(request, response);
    const expires = new Date(Date.now() + fake.tokenSeconds * 1_000).toISOString();
    const answer = { token: `token-${++issued}`, token_type: 'Bearer', expires_at: expires };
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
        const message: ClientMessage = JSON.parse((data as Buffer).toString());
        fake.messages.push(message);
        fake.onMessage(message, peerOf(client));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeChannel = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages: [],
    tokens: [],
    onRequest: (_request, response) => response.writeHead(404).end(),
    onMessage: () => {},
    refuses: null,
    tokenSeconds: 900,
    tokenStatus: 201,
    issuedTokens: () => issued,
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
    send: (message) => client.send(JSON.stringify(message)),
    end: (status, reason) => client.close(status, reason),
    cut: () => client.terminate(),
    freeze: () => client.pause(),
  };
}
