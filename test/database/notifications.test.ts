import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { sql } from 'kysely';
import { pino } from 'pino';
import { CHANNELS, startNotifications } from '../../src/database/common/notifications.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';

/** A TCP proxy. After `silence()`, its connections forward nothing, and do not close. New ones work. */
async function openProxy(target: URL) {
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('data', (bytes) => void other.write(bytes));
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    silence() {
      for (const socket of sockets) socket.removeAllListeners('data').resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('a listener whose connection was dropped without a message', () => {
  const fresh = useInstallation();

  it('connects again, and reports that notifications may be lost', async () => {
    const proxy = await openProxy(new URL(fresh.url));
    const notifications = await startNotifications(proxy.url, pino({ level: 'silent' }), ['feed'], 1_000);
    try {
      const received: (string | null)[] = [];
      notifications.subscribe('feed', 'run-1', (_, rest) => received.push(rest));
      const notify = () =>
        sql`select pg_notify(${CHANNELS.feed}, 'run-1')`.execute(queryBuilderOf(fresh.database));
      await notify();
      await eventually('the notification arrives', () => received.includes(''));
      received.length = 0;
      proxy.silence();
      await eventually('the loss is reported', () => received.includes(null));
      await notify();
      await eventually('the next notification arrives', () => received.includes(''));
      assert.ok(notifications.isConnected());
    } finally {
      await notifications.close();
      proxy.close();
    }
  });
});
