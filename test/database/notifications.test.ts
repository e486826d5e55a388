import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { pino } from 'pino';
import { CHANNELS, startNotifications } from '../../src/database/common/notifications.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';
import { startRelay } from '../support/relay.ts';

/** What PostgreSQL responds to `listen` during recovery, and that it is ready for the next statement. */
const REFUSAL = Buffer.from(
  'E\0\0\0\x3aSERROR\0C25006\0Mcannot execute LISTEN during recovery\0\0Z\0\0\0\x05I',
  'latin1',
);

describe('a listener whose connection was dropped without a message', () => {
  const fresh = useInstallation();

  it('connects again, and reports that notifications may be lost', async () => {
    const relay = await startRelay(fresh.url);
    const url = relay.through(fresh.url);
    const notifications = await startNotifications(url.href, pino({ level: 'silent' }), ['feed'], 1_000);
    try {
      const received: (string | null)[] = [];
      notifications.subscribe('feed', 'run-1', (_, rest) => received.push(rest));
      const notify = () =>
        sql`select pg_notify(${CHANNELS.feed}, 'run-1')`.execute(queryBuilderOf(fresh.database));
      await notify();
      await eventually('the notification arrives', () => received.includes(''));
      received.length = 0;
      relay.leadTo('http://127.0.0.1:1');
      relay.silence();
      await eventually('the loss is noticed', () => !notifications.isConnected());
      const tried = relay.accepted();
      await eventually('it tries in vain, twice', () => relay.accepted() >= tried + 2);
      relay.leadTo(fresh.url);
      await eventually('the loss is reported', () => received.includes(null));
      await notify();
      await eventually('the next notification arrives', () => received.includes(''));
      assert.ok(notifications.isConnected());
    } finally {
      await notifications.close();
      await relay.close();
    }
  });

  it('keeps no connection to a standby that does not let it listen', async () => {
    let isStandby = false;
    const relay = await startRelay(fresh.url, (sent) =>
      isStandby && sent.includes('listen baton') ? REFUSAL : null,
    );
    const url = relay.through(fresh.url);
    const notifications = await startNotifications(url.href, pino({ level: 'silent' }), ['feed']);
    try {
      isStandby = true;
      relay.cut();
      const tried = relay.accepted();
      await eventually('it tries in vain, twice', () => relay.accepted() >= tried + 2 && !relay.isInUse());
      assert.equal(notifications.isConnected(), false);
      isStandby = false;
      await eventually('it listens again', () => notifications.isConnected());
    } finally {
      await notifications.close();
      await relay.close();
    }
  });
});
