import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { pino } from 'pino';
import type { Notifications } from '../../src/database/common/notifications.ts';
import { CHANNEL_PENDING_BYTES } from '../../src/domain/common/limits.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';
import { createRunFeeds } from '../../src/gateway/run-feeds.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';
import { quietRun, writeEvents } from './quiet-runs.ts';

/** Creates a client that records the event numbers. The buffer of a slow one is full after an event until `drain`. */
function createClient({ isSlow }: { isSlow: boolean }) {
  const received: number[] = [];
  let isFull = false;
  let onDrained = (): void => {};
  const connection: Connection = {
    id: '',
    send(message) {
      received.push(JSON.parse(message.plainBytes.toString()).event.seq);
      isFull = isSlow;
    },
    pendingBytes: () => (isFull ? CHANNEL_PENDING_BYTES + 1 : 0),
    onceDrained: (listener) => void (onDrained = listener),
    close: () => {},
  };
  const drain = () => {
    isFull = false;
    onDrained();
  };
  return { received, connection, drain };
}

describe('the feeds that a gateway follows', () => {
  const fresh = useInstallation();

  // Without its sweep, only notifications and reads cause reads.
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  /** Follows feeds of a new database. `notify` reports that a run has new events. */
  function setUp(options: { stallMs?: number } = {}) {
    const listeners = new Map<string, () => void>();
    const notifications = {
      subscribe(_channel: string, id: string, listener: () => void) {
        listeners.set(id, listener);
        return () => void listeners.delete(id);
      },
    } as unknown as Notifications;
    const metrics = createMetricsRecorder(() => new Date());
    const feeds = createRunFeeds({
      database: fresh.database,
      notifications,
      metrics,
      log: pino({ level: 'silent' }),
      ...options,
    });
    const lag = () => metrics.read({ workflow: 1, webhook: 0 }).lag_ms.max;
    return { feeds, listeners, lag, notify: (run: string) => listeners.get(run)?.() };
  }

  it('are not sent to a client that left while it did not receive, and then reads on', async () => {
    const { database, installation } = fresh;
    const { feeds, notify } = setUp();
    const run = await quietRun(database, installation);
    const [slow, quick] = [createClient({ isSlow: true }), createClient({ isSlow: false })];
    let written = 0;
    const write = async (count: number) => {
      await writeEvents(database, run, { count, bytes: 1 });
      written += count;
      notify(run);
      await eventually('the quick client has all events', () => quick.received.length === written);
    };
    try {
      const leave = feeds.follow(run, 0, slow.connection);
      feeds.follow(run, 0, quick.connection);
      await write(2);
      leave();
      slow.drain();
      // Each of these reads would also send the slow client its next event.
      for (let round = 0; round < 5; round += 1) await write(1);
      assert.deepEqual(slow.received, [1]);
    } finally {
      feeds.close();
    }
  });

  it('are sent in full to clients at different events, without further notifications', async () => {
    const { database, installation } = fresh;
    const { feeds } = setUp();
    const run = await quietRun(database, installation);
    await writeEvents(database, run, { count: 450, bytes: 1 });
    try {
      for (const after of [0, 30, 400]) {
        const client = createClient({ isSlow: false });
        feeds.follow(run, after, client.connection);
        if (after === 400) await eventually('it has the last events', () => client.received.length === 50);
        else await eventually('it has all events', () => client.received.length === 450 - after);
      }
    } finally {
      feeds.close();
    }
  });

  it('are sent up to a missing event, and nothing after it', async () => {
    const { database, installation } = fresh;
    const { feeds } = setUp();
    const run = await quietRun(database, installation);
    await writeEvents(database, run, { count: 4, bytes: 1 });
    await database.em
      .getConnection()
      .execute('delete from task_events where execution_id = ? and seq = 3', [run]);
    try {
      for (const after of [0, 1]) {
        const { received, connection } = createClient({ isSlow: false });
        feeds.follow(run, after, connection);
        await eventually('it has the events', () => received.length > 0);
        assert.deepEqual(received, after === 0 ? [1, 2] : [2]);
      }
    } finally {
      feeds.close();
    }
  });

  it('close a client that does not receive for too long', async () => {
    const { database, installation } = fresh;
    const { feeds } = setUp({ stallMs: 1 });
    const run = await quietRun(database, installation);
    await writeEvents(database, run, { count: 1, bytes: 1 });
    const closedWith: string[] = [];
    const { connection } = createClient({ isSlow: true });
    try {
      feeds.follow(run, 0, { ...connection, close: (code) => void closedWith.push(code) });
      await eventually('it is closed', () => closedWith.length > 0);
      assert.deepEqual(closedWith, ['slow_reader']);
    } finally {
      feeds.close();
    }
  });

  it('are read again after a lost notification', async () => {
    const { database, installation } = fresh;
    const { feeds } = setUp();
    try {
      const run = await quietRun(database, installation);
      const client = createClient({ isSlow: false });
      feeds.follow(run, 0, client.connection);
      await writeEvents(database, run, { count: 1, bytes: 1 });
      await eventually('the first event arrives', () => {
        mock.timers.tick(5_000);
        return client.received.length === 1;
      });
    } finally {
      feeds.close();
    }
  });

  it('end without a close for a client that receives in time', async () => {
    const { database, installation } = fresh;
    const { feeds, notify } = setUp({ stallMs: 1 });
    const run = await quietRun(database, installation);
    const { received, connection } = createClient({ isSlow: true });
    const closedWith: string[] = [];
    try {
      feeds.follow(run, 0, {
        ...connection,
        // It receives each event at once.
        onceDrained: (listener) => listener(),
        close: (code) => void closedWith.push(code),
      });
      for (let count = 1; count <= 3; count += 1) {
        await writeEvents(database, run, { count: 1, bytes: 1 });
        notify(run);
        await eventually('it has the event', () => received.length === count);
      }
      assert.deepEqual(closedWith, []);
    } finally {
      feeds.close();
    }
  });

  it('do not close a client that left while it did not receive, and reads on', async () => {
    const { database, installation } = fresh;
    const { feeds, notify } = setUp({ stallMs: 1 });
    const run = await quietRun(database, installation);
    const [slow, quick] = [createClient({ isSlow: true }), createClient({ isSlow: false })];
    const closedWith: string[] = [];
    try {
      const leave = feeds.follow(run, 0, {
        ...slow.connection,
        // It leaves and receives as soon as its buffer is full.
        onceDrained(listener) {
          leave();
          listener();
        },
        close: (code) => void closedWith.push(code),
      });
      feeds.follow(run, 0, quick.connection);
      for (let count = 1; count <= 3; count += 1) {
        await writeEvents(database, run, { count: 1, bytes: 1 });
        notify(run);
        await eventually('the quick client has the event', () => quick.received.length === count);
      }
      assert.deepEqual([slow.received, closedWith], [[1], []]);
    } finally {
      feeds.close();
    }
  });

  it('lag only for events that came after the client, not for those before', async () => {
    const { database, installation } = fresh;
    const { feeds, notify, lag } = setUp();
    const run = await quietRun(database, installation);
    const { received, connection } = createClient({ isSlow: false });
    await writeEvents(database, run, { count: 2, bytes: 1 });
    try {
      feeds.follow(run, 0, connection);
      await eventually('the client has the events', () => received.length === 2);
      assert.equal(lag(), null);
      await writeEvents(database, run, { count: 1, bytes: 1 });
      await database.em
        .getConnection()
        .execute(
          "update task_events set written_at = now() - interval '1 day' where execution_id = ? and seq = 3",
          [run],
        );
      notify(run);
      await eventually('the client has the new event', () => received.length === 3);
      const days = (lag() ?? 0) / 86_400_000;
      assert.ok(days >= 1 && days < 2, `${days} days`);
    } finally {
      feeds.close();
    }
  });

  it('are not read any more when the last client has left, once', () => {
    const { feeds, listeners } = setUp();
    const run = '01890000-0000-7000-8000-000000000000';
    const [leave, leaveOther] = [0, 0].map((after) =>
      feeds.follow(run, after, createClient({ isSlow: false }).connection),
    );
    leave?.();
    leave?.();
    assert.deepEqual([feeds.count(), listeners.size], [1, 1]);
    leaveOther?.();
    assert.deepEqual([feeds.count(), listeners.size], [0, 0]);
    feeds.close();
  });
});
