import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MANY_CHANGED } from '../../src/database/webhooks/watched-webhooks.ts';
import { CHANNEL_PENDING_BYTES, MAX_PENDING_DELIVERIES } from '../../src/domain/common/limits.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { Message } from '../../src/gateway/message.ts';
import { WebhookViewer } from '../../src/gateway/webhook-viewers.ts';
import { eventually } from '../support/eventually.ts';

/** Creates a client whose buffer stays full until `takesAll` is called. */
function slowClient() {
  let drained = () => {};
  const client = { pending: 0, sent: 0, closedWith: null as string | null };
  const connection: Connection = {
    id: 'slow',
    send: () => void (client.sent += 1),
    pendingBytes: () => client.pending,
    onceDrained: (listener) => void (drained = listener),
    close: (code) => void (client.closedWith = code),
  };
  return { client, connection, drain: () => drained() };
}

const message = Message.of('event', { type: 'webhook.changed', webhook_id: 'w', webhook: null });

describe('a viewer in the room of a webhook', () => {
  const viewerOf = (connection: Connection) => {
    const viewer = new WebhookViewer('workspace', 'w');
    viewer.follow(connection);
    return viewer;
  };

  it('waits for each changed delivery once', () => {
    const viewer = viewerOf(slowClient().connection);
    viewer.owe(['a', 'b']);
    viewer.owe(['b', 'a', 'b']);
    assert.deepEqual([...viewer.owed], ['a', 'b']);
    assert.ok(viewer.isWaiting);
  });

  it('waits for the changes that happen before it follows', () => {
    const viewer = new WebhookViewer('workspace', 'w');
    viewer.owe(['a']);
    assert.ok(!viewer.isWaiting);
    viewer.follow(slowClient().connection);
    assert.ok(viewer.isWaiting);
  });

  it('gets no messages while its buffer is full, and continues when it is empty', () => {
    const { client, connection, drain } = slowClient();
    const viewer = viewerOf(connection);
    let resumed = 0;
    client.pending = CHANNEL_PENDING_BYTES + 1;
    assert.ok(!viewer.send(message, 60_000, () => (resumed += 1)));
    viewer.owe(['a']);
    assert.ok(viewer.isStalled && !viewer.isWaiting);
    drain();
    assert.equal(resumed, 1);
    assert.ok(viewer.isWaiting);
    assert.equal(client.closedWith, null);
  });

  it('is dropped if its buffer stays full for too long', async () => {
    const { client, connection } = slowClient();
    client.pending = CHANNEL_PENDING_BYTES + 1;
    viewerOf(connection).send(message, 20, () => {});
    await eventually('the viewer is dropped', () => client.closedWith === 'slow_reader');
  });

  it('is not dropped if its buffer is empty in time', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { client, connection, drain } = slowClient();
      client.pending = CHANNEL_PENDING_BYTES + 1;
      viewerOf(connection).send(message, 20, () => {});
      mock.timers.tick(19);
      drain();
      mock.timers.tick(60_000);
      assert.equal(client.closedWith, null);
    } finally {
      mock.timers.reset();
    }
  });

  it('is notified of many changes if there are too many to list', () => {
    const viewer = viewerOf(slowClient().connection);
    viewer.owe(Array.from({ length: MAX_PENDING_DELIVERIES }, (_, index) => String(index)));
    assert.equal(viewer.owed.size, MAX_PENDING_DELIVERIES);
    viewer.owe(['one more']);
    assert.deepEqual([...viewer.owed], [MANY_CHANGED]);
  });

  it('waits for nothing after it has left', () => {
    const { client, connection } = slowClient();
    const viewer = viewerOf(connection);
    viewer.leave();
    viewer.owe(['a']);
    assert.ok(!viewer.isWaiting);
    assert.ok(!viewer.send(message, 20, () => {}));
    assert.equal(client.sent, 0);
  });
});
