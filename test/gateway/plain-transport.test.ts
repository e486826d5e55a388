import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import { mock } from 'node:test';
import { WebSocket } from 'ws';
import { CHANNEL_CODES, type ChannelCode } from '../../src/domain/channel/channel.ts';
import type { Clients } from '../../src/gateway/clients.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { Message } from '../../src/gateway/message.ts';
import { createPlainTransport, refuseRequest, refuseUpgrade } from '../../src/gateway/plain.ts';
import { eventually } from '../support/eventually.ts';
import { admitted } from './admitted.ts';

/** The first byte of a WebSocket frame with the answer to a ping (RFC 6455, section 5.2). */
const PONG = 0x8a;

describe('a connection over a plain WebSocket', () => {
  it('frees its place if the client disconnects during its admission', async () => {
    const admission = Promise.withResolvers<Awaited<ReturnType<Clients['admit']>>>();
    const transport = createPlainTransport({ admit: () => admission.promise } as unknown as Clients);
    const socket = new PassThrough();
    const request = { headers: {}, url: '/' } as IncomingMessage;
    const handled = transport.handleUpgrade(request, socket, Buffer.alloc(0));
    socket.destroy();
    let released = 0;
    admission.resolve(admitted(() => void (released += 1)));
    await handled;
    assert.equal(released, 1);
    await transport.close();
  });

  describe('of a client that only listens', () => {
    const server = createServer();
    const sockets: Duplex[] = [];
    let transport: ReturnType<typeof createPlainTransport>;
    let beat = (): void => assert.fail('nothing to do');
    before(async () => {
      const clients = { admit: async () => admitted(), enter: () => ({}), leave: () => {} };
      transport = createPlainTransport(clients as unknown as Clients, undefined, (act) => {
        beat = act;
        return () => {};
      });
      server.on('upgrade', (request, socket, head) => {
        sockets.push(socket);
        void transport.handleUpgrade(request, socket, head);
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    after(async () => {
      await transport.close();
      server.close();
    });

    async function connect(options: { autoPong: boolean }) {
      const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options);
      await once(client, 'open');
      const socket = sockets.at(-1);
      assert.ok(socket);
      return { client, socket };
    }

    it('stays open while it answers pings', async () => {
      const { client, socket } = await connect({ autoPong: true });
      for (let count = 0; count < 3; count += 1) {
        const answered = once(socket, 'data');
        beat();
        const [frame] = (await answered) as [Buffer];
        assert.equal(frame[0], PONG);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(client.readyState, WebSocket.OPEN);
      client.terminate();
    });

    it('is closed if it does not answer a ping before the next one', async () => {
      const { client } = await connect({ autoPong: false });
      const pinged = once(client, 'ping');
      beat();
      await pinged;
      const closed = once(client, 'close');
      beat();
      await closed;
    });
  });

  it('is pinged every 25 s', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    const server = createServer();
    const clients = { admit: async () => admitted(), enter: () => ({}), leave: () => {} };
    const transport = createPlainTransport(clients as unknown as Clients);
    try {
      server.on('upgrade', (...args) => void transport.handleUpgrade(...args));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
      await once(client, 'open');
      const pinged = once(client, 'ping');
      mock.timers.tick(25_000);
      await pinged;
      client.terminate();
    } finally {
      await transport.close();
      mock.timers.reset();
      server.close();
    }
  });

  describe('that the service closes', () => {
    const server = createServer();
    let transport: ReturnType<typeof createPlainTransport>;
    let entered: Connection | null = null;
    before(async () => {
      const clients = {
        admit: async () => admitted(),
        enter(connection: Connection) {
          entered = connection;
          return { receive() {} };
        },
        leave: () => {},
      };
      transport = createPlainTransport(clients as unknown as Clients);
      server.on('upgrade', (...given) => void transport.handleUpgrade(...given));
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    after(async () => {
      await transport.close();
      server.close();
    });

    const CLOSE_CODES: Record<string, number> = {
      server_stopping: 1012,
      unavailable: 1013,
      slow_reader: 1013,
    };
    for (const [code, message] of Object.entries(CHANNEL_CODES)) {
      it(`with ${code} gets the reason as the last message and in the close`, async () => {
        entered = null;
        const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
        const messages: unknown[] = [];
        client.on('message', (data: Buffer) => void messages.push(JSON.parse(data.toString())));
        const closed = once(client, 'close');
        await once(client, 'open');
        const connection = await eventually('the client has entered', () => entered);
        connection.close(code as ChannelCode);
        // Nothing follows it.
        connection.send(Message.of('listening_ended', { webhook_id: 'w', reason: 'gone' }));
        connection.close('forbidden');
        const [status, reason] = (await closed) as [number, Buffer];
        assert.deepEqual([status, reason.toString()], [CLOSE_CODES[code] ?? 1008, code]);
        assert.deepEqual(messages, [{ type: 'closed', code, message }]);
        await eventually('nothing is pending', () => connection.pendingBytes() === 0);
      });
    }
  });
});

describe('a refused connection to the channel', () => {
  const REQUEST_ID = 'a-connection';
  const request = { headers: { 'x-request-id': REQUEST_ID } } as unknown as IncomingMessage;
  const STATUSES: Record<string, [status: number, title: string]> = {
    too_many_connections: [429, 'Too Many Requests'],
    too_many_handshakes: [429, 'Too Many Requests'],
    unavailable: [503, 'Service Unavailable'],
  };
  const expected = (code: ChannelCode, [status, title]: [number, string]) => {
    const problem = { type: `/problems/${code}`, title, status, detail: CHANNEL_CODES[code] };
    const body = JSON.stringify({ ...problem, instance: '/ws', code, request_id: REQUEST_ID });
    const headers = {
      'Content-Type': 'application/problem+json',
      'Content-Length': String(Buffer.byteLength(body)),
      'X-Request-Id': REQUEST_ID,
      Connection: 'close',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...(status === 401
        ? { 'WWW-Authenticate': 'Bearer realm="baton", error="invalid_token"' }
        : { 'Retry-After': '5' }),
    };
    return { headers, body };
  };
  const upgraded = (code: ChannelCode, status?: number): string => {
    const socket = new PassThrough();
    refuseUpgrade(request, socket, code, status);
    return String(socket.read());
  };

  it('gets a problem with the status of its code, its request id, and when to try again', () => {
    for (const code of Object.keys(CHANNEL_CODES) as ChannelCode[]) {
      const [status, title] = STATUSES[code] ?? [401, 'Unauthorized'];
      const { headers, body } = expected(code, [status, title]);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      assert.equal(upgraded(code), `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`);
      const written: unknown[] = [];
      const response = {
        writeHead(...given: unknown[]) {
          written.push(...given);
          return { end: (text: string) => void written.push(text) };
        },
      } as unknown as ServerResponse;
      refuseRequest(request, response, code);
      assert.deepEqual(written, [status, headers, body]);
    }
  });

  it('can get another status', () => {
    const { body } = expected('server_stopping', [503, 'Service Unavailable']);
    const text = upgraded('server_stopping', 503);
    assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
    assert.match(text, /\r\nRetry-After: 5\r\n/);
    assert.ok(text.endsWith(`\r\n\r\n${body}`));
  });
});
