import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import { mock } from 'node:test';
import { WebSocket } from 'ws';
import type { Clients } from '../../src/gateway/clients.ts';
import { createPlainTransport } from '../../src/gateway/plain.ts';
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
});
