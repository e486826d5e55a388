import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Clients } from '../../src/gateway/clients.ts';
import { createPlainTransport } from '../../src/gateway/plain.ts';
import { admitted } from './admitted.ts';

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
});
