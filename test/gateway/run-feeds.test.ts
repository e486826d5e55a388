import assert from 'node:assert/strict';
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

  it('are not sent to a client that left while it did not receive, and then reads on', async () => {
    const { database, installation } = fresh;
    let notify = (): void => assert.fail('nobody listens');
    const notifications = {
      subscribe(_channel: string, _id: string, listener: () => void) {
        notify = listener;
        return () => {};
      },
    } as unknown as Notifications;
    const metrics = createMetricsRecorder(() => new Date());
    const feeds = createRunFeeds({ database, notifications, metrics, log: pino({ level: 'silent' }) });
    const run = await quietRun(database, installation);
    const [slow, quick] = [createClient({ isSlow: true }), createClient({ isSlow: false })];
    let written = 0;
    const write = async (count: number) => {
      await writeEvents(database, run, { count, bytes: 1 });
      written += count;
      notify();
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
});
