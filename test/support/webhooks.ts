import assert from 'node:assert/strict';
import type { EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { useReceiver } from './callback-receiver.ts';
import type { World } from './world.ts';

/**
 * Registers hooks that give each test of a `describe` a receiver, and delete the webhooks of the world's workspace after
 * each test.
 */
export function useWebhooks(world: World) {
  afterEach('delete the webhooks', () => deleteWebhooks(world));
  const receiver = useReceiver('each test');
  return {
    receiver,
    /** Creates a webhook for the receiver, by default with `issue.created` only. Returns its id. */
    async create(members: object = {}): Promise<string> {
      const body = { name: 'Chat', url: receiver.url, events: [{ event: 'issue.created' }], ...members };
      const received = await world.send('POST', '/api/v1/webhooks', { body });
      assert.equal(received.status, 201, received.text);
      return received.json.id;
    },
    /** Sends an event, by default with the data of the sample. Returns its id. */
    async publish(event: EventKind = 'issue.created', data: object = sampleData(event)): Promise<string> {
      const received = await world.send('POST', '/api/v1/events', { body: { event, data } });
      assert.equal(received.status, 202, received.text);
      return received.json.id;
    },
  };
}

/** Deletes all webhooks of the workspace, so that a test does not affect the next one. */
export async function deleteWebhooks(world: World): Promise<void> {
  const { json } = await world.send('GET', '/api/v1/webhooks?limit=200');
  for (const { id } of json.data) await world.send('DELETE', `/api/v1/webhooks/${id}`);
}
