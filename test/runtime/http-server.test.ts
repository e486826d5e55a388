import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { listenAt, urlOf } from '../../src/runtime/http-server.ts';

describe('an address at which a process cannot listen', () => {
  const address = { host: '192.0.2.1', port: 80, hostFrom: 'HOST', portFrom: 'PORT' };
  /** Listens with a server whose system refuses the address with a code. */
  async function refusedWith(code: string): Promise<string> {
    const server = createServer();
    const error = Object.assign(new Error(`listen ${code}`), { code });
    server.listen = () => {
      setImmediate(() => server.emit('error', error));
      return server;
    };
    return await listenAt(server, address).then(
      () => 'it listens',
      (reason: Error) => reason.message,
    );
  }

  for (const [code, advice] of [
    [
      'EADDRINUSE',
      'port 80 on 192.0.2.1 is already in use; stop the program that listens there, or set PORT',
    ],
    ['EACCES', 'this process has no permission to use port 80; set PORT to another port'],
    ['EADDRNOTAVAIL', '192.0.2.1 is not an address of this machine; set HOST to another address'],
    ['ENOTFOUND', 'listen ENOTFOUND'],
  ] as const)
    it(`causes an error with advice, or that of the system: ${code}`, async () => {
      const message = await refusedWith(code);
      assert.equal(message.slice(0, advice.length), advice);
    });

  it('has brackets in its URL if it is an IPv6 address', () => {
    assert.equal(urlOf('::1', 3_000), 'http://[::1]:3000');
    assert.equal(urlOf('127.0.0.1', 3_000), 'http://127.0.0.1:3000');
  });
});
