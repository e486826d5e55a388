import assert from 'node:assert/strict';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { useWorld } from '../support/world.ts';
import { callersTrace, describeTraces } from './described-traces.ts';
import { WEBHOOK } from './observed.ts';

describeTraces('encrypted');

describe('a service without tracing', function () {
  const world = useWorld();

  it('adds no traceparent to outgoing requests', async () => {
    const receiver = await startCallbackReceiver();
    try {
      const body = { ...WEBHOOK, name: 'Untraced', url: `${receiver.url}/hook` };
      const made = await world.send('POST', '/api/v1/webhooks', { body });
      assert.equal(made.status, 201);
      const { headers } = callersTrace();
      const event = { event: 'issue.created', data: { issue: { id: '1' } } };
      assert.equal((await world.send('POST', '/api/v1/events', { body: event, headers })).status, 202);
      const callback_url = `${receiver.url}/callback`;
      assert.equal((await world.submit({ callback_url }, { headers })).status, 201);
      for (const request of await receiver.receives(2)) {
        assert.equal(request.headers['traceparent'], undefined);
      }
    } finally {
      await receiver.close();
    }
  });
});
