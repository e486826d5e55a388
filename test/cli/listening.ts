import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import type { World } from '../support/world.ts';
import type { Running } from './cli-process.ts';

/** Waits until `baton listen` is ready. Returns the id and the secret of its webhook. */
export async function readiness(running: Running): Promise<{ id: string; secret: string }> {
  await running.says(/Ready: forwarding to/);
  const [, id = ''] = await running.says(/Webhook +([0-9a-f-]{36})/);
  const [, secret = ''] = await running.says(/Secret +([0-9a-f]{64})/);
  return { id, secret };
}

export async function webhooksOf(world: World): Promise<{ id: string }[]> {
  return (await world.send('GET', '/api/v1/webhooks')).json.data;
}

/** Publishes one event. */
export async function publish(world: World, title = 'A title', event = 'issue.created'): Promise<void> {
  const [object = ''] = event.split('.');
  const data = { [object]: { id: 'i-1', key: 'SHOP-1', title } };
  const { status } = await world.send('POST', '/api/v1/events', { body: { event, data } });
  assert.equal(status, 202);
}

/** Waits until the only delivery of a webhook is in the state. Returns it with its attempts. */
export function deliveryOf(world: World, webhookId: string, state: string) {
  return eventually(`the delivery is ${state}`, async () => {
    const { json } = await world.send('GET', `/api/v1/webhooks/${webhookId}/deliveries`);
    const [found, ...others] = json.data;
    assert.equal(others.length, 0);
    return found?.status === state && (await world.send('GET', `/api/v1/deliveries/${found.id}`)).json;
  });
}
