import assert from 'node:assert/strict';
import { MANY_CHANGED } from '../../src/database/webhooks/watched-webhooks.ts';
import { CHANNEL_PENDING_BYTES, MAX_PENDING_DELIVERIES } from '../../src/domain/common/limits.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { Message } from '../../src/gateway/message.ts';
import { WebhookViewer } from '../../src/gateway/webhook-viewers.ts';
import { eventually } from '../support/eventually.ts';

/** A client that takes nothing until it is told to. */
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
  return { client, connection, takesAll: () => drained() };
}

const message = Message.of('event', { type: 'webhook.changed', webhook_id: 'w', webhook: null });

describe("a viewer in a webhook's room", () => {
  const viewerOf = (connection: Connection) => {
    const viewer = new WebhookViewer('workspace', 'w');
    viewer.follow(connection);
    return viewer;
  };

  it('is owed each delivery once, however often it changes', () => {
    const viewer = viewerOf(slowClient().connection);
    viewer.owe(['a', 'b']);
    viewer.owe(['b', 'a', 'b']);
    assert.deepEqual([...viewer.owed], ['a', 'b']);
    assert.ok(viewer.isWaiting);
  });

  it('is owed what changes before it follows', () => {
    const viewer = new WebhookViewer('workspace', 'w');
    viewer.owe(['a']);
    assert.ok(!viewer.isWaiting);
    viewer.follow(slowClient().connection);
    assert.ok(viewer.isWaiting);
  });

  it('gets nothing more while it takes nothing, and goes on when it has taken what waits', () => {
    const { client, connection, takesAll } = slowClient();
    const viewer = viewerOf(connection);
    let resumed = 0;
    client.pending = CHANNEL_PENDING_BYTES + 1;
    assert.ok(!viewer.send(message, 60_000, () => (resumed += 1)));
    viewer.owe(['a']);
    assert.ok(viewer.isStalled && !viewer.isWaiting);
    takesAll();
    assert.equal(resumed, 1);
    assert.ok(viewer.isWaiting);
    assert.equal(client.closedWith, null);
  });

  it('is dropped when it takes nothing for too long', async () => {
    const { client, connection } = slowClient();
    client.pending = CHANNEL_PENDING_BYTES + 1;
    viewerOf(connection).send(message, 20, () => {});
    await eventually('it is dropped', () => client.closedWith === 'slow_reader');
  });

  it('is told that much has changed where it is owed too much to name', () => {
    const viewer = viewerOf(slowClient().connection);
    viewer.owe(Array.from({ length: MAX_PENDING_DELIVERIES + 1 }, (_, index) => String(index)));
    assert.deepEqual([...viewer.owed], [MANY_CHANGED]);
  });

  it('is owed nothing when it has left', () => {
    const { client, connection } = slowClient();
    const viewer = viewerOf(connection);
    viewer.leave();
    viewer.owe(['a']);
    assert.ok(!viewer.isWaiting);
    assert.ok(!viewer.send(message, 20, () => {}));
    assert.equal(client.sent, 0);
  });
});
