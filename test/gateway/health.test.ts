import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Notifications } from '../../src/database/common/notifications.ts';
import type { TaskControl } from '../../src/temporal/task-control.ts';
import type { Channel } from '../../src/gateway/channel.ts';
import { createHealthHandler } from '../../src/gateway/health.ts';
import { useInstallation } from '../support/installation.ts';

describe('the health of a gateway', () => {
  const fresh = useInstallation();
  const OK = { status: 'ok', reason: null };

  /** Returns the function that sends a request to the handler, and returns the status and the body. */
  function open({ isConnected = true, isEngineReady = true } = {}) {
    const { answer, readiness } = createHealthHandler({
      database: fresh.database,
      notifications: { isConnected: () => isConnected } as Notifications,
      control: {
        ready: () => (isEngineReady ? Promise.resolve() : Promise.reject(new Error('no'))),
      } as TaskControl,
      channel: { statistics: () => ({ connections: 7 }) } as unknown as Channel,
    });
    const send = async (method: string, url?: string) => {
      const received: unknown[] = [];
      const response = {
        writeHead: (status: number, headers: object) => void received.push(status, headers),
        end: (text: string) => void received.push(JSON.parse(text)),
      } as unknown as ServerResponse;
      await answer({ method, url } as IncomingMessage, response);
      const [status, headers, body] = received;
      assert.deepEqual(headers, { 'Content-Type': 'application/json' });
      return [status, body];
    };
    return { send, readiness };
  }

  it('is at its addresses, for reading only', async () => {
    const { send } = open();
    for (const method of ['GET', 'HEAD'])
      assert.deepEqual(await send(method, '/health/live?x=1'), [200, { status: 'live' }]);
    assert.deepEqual(await send('GET', '/health/channel'), [200, { connections: 7 }]);
    const notFound = [404, { status: 404, code: 'not_found' }];
    for (const url of ['/health', '/health/ready/', undefined])
      assert.deepEqual(await send('GET', url), notFound);
    const notAllowed = [405, { status: 405, code: 'method_not_allowed' }];
    assert.deepEqual(await send('POST', '/health/live'), notAllowed);
  });

  it('is ready with PostgreSQL and its notifications, also without Temporal', async () => {
    const ready = { status: 'ready', checks: { postgres: OK, temporal: OK } };
    assert.deepEqual(await open().send('GET', '/health/ready'), [200, ready]);
    assert.deepEqual(await open().readiness(), ready);
    const temporal = { status: 'failing', reason: 'Temporal is unreachable.' };
    assert.deepEqual(await open({ isEngineReady: false }).send('GET', '/health/ready'), [
      200,
      { status: 'ready', checks: { postgres: OK, temporal } },
    ]);
    const postgres = { status: 'failing', reason: 'Cannot listen to PostgreSQL.' };
    assert.deepEqual(await open({ isConnected: false }).send('GET', '/health/ready'), [
      503,
      { status: 'not_ready', checks: { postgres, temporal: OK } },
    ]);
  });
});
