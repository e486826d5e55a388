import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { EXAMPLES, useExample } from './receiver-process.ts';

const SECRET = 'a-secret-between-us';
const DATA =
  '{ "issue": {"id":"i-1", "key":"SHOP-1", "title":"Größe 1.0e2 ✓"}, "actor": {"id":"u-1","name":"Ada"} }';

describe('a delivery to an example receiver', function () {
  const world = useWorld();

  const webhook = async (url: string, secret: string): Promise<string> => {
    const events = [{ event: 'issue.created', filters: [] }];
    const { status, json, text } = await world.send('POST', '/api/v1/webhooks', {
      body: { name: 'An example', url, secret, events },
    });
    assert.equal(status, 201, text);
    return json.id;
  };
  const publish = async (): Promise<string> => {
    const { status, json, text } = await world.send('POST', '/api/v1/events', {
      raw: `{"event":"issue.created","data":${DATA}}`,
      headers: { 'Content-Type': 'application/json' },
    });
    assert.equal(status, 202, text);
    return json.id;
  };
  /** Waits for an attempt of an event's delivery. Returns the delivery. */
  const attempted = (webhookId: string, eventId: string) =>
    eventually(`${eventId} is attempted`, async () => {
      const { json } = await world.send('GET', `/api/v1/webhooks/${webhookId}/deliveries`);
      const found = json.data.find((row: { event_id: string }) => row.event_id === eventId);
      return found?.attempts_count > 0 && found;
    });

  for (const example of EXAMPLES) {
    describe(`in ${example.language}`, () => {
      const receiver = useExample(example, SECRET);
      let id: string;
      before(async () => (id = await webhook(receiver.url, SECRET)));
      after(async () => {
        if (id !== undefined) await world.send('DELETE', `/api/v1/webhooks/${id}`);
      });

      it('is accepted', async () => {
        const event = await publish();
        const line = await receiver.prints(new RegExp(` ${event} `));
        const delivery = await attempted(id, event);
        assert.deepEqual([delivery.status, delivery.response_status], ['succeeded', 204]);
        assert.ok(line.startsWith(`event issue.created ${event} of 2`) && line.endsWith(` ${delivery.id}`));
      });

      it('is processed once if it is repeated', async () => {
        const event = await publish();
        const { id: delivery } = await attempted(id, event);
        await world.send('POST', `/api/v1/deliveries/${delivery}/retry`);
        await receiver.prints(new RegExp(`^again ${delivery}$`));
        assert.equal(receiver.lines().filter((line) => line.includes(` ${event} `)).length, 1);
      });

      it('is accepted while its secret is being rotated, and rejected afterwards', async () => {
        const rotate = async (overlap: number) => {
          const body = { overlap_hours: overlap };
          const { status, text } = await world.send('POST', `/api/v1/webhooks/${id}/rotate-secret`, { body });
          assert.equal(status, 200, text);
        };
        await rotate(1);
        assert.equal((await attempted(id, await publish())).response_status, 204);
        await rotate(0);
        const refused = await attempted(id, await publish());
        assert.deepEqual([refused.status, refused.response_status], ['retrying', 401]);
      });
    });
  }
});
