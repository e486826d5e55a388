import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { REPLIES, PUSHED } from '../../src/api/docs/channel-vocabulary.ts';
import { deliveryChanged, webhookChanged } from '../../src/domain/channel/channel-answers.ts';
import { feedEvent } from '../../src/domain/tasks/feed-schemas.ts';
import { type Received, useOwnWorld } from '../support/world.ts';
import { plainAddress } from '../support/following.ts';
import { eventually } from '../support/eventually.ts';

type Said = Received['json'];

/** Holds a message against its description; answers its name. */
function checked(said: Said): string {
  const { type, id: _, ...body } = said;
  if (type === 'event') {
    const { event } = body;
    const schema = { 'delivery.changed': deliveryChanged, 'webhook.changed': webhookChanged }[
      event.type as string
    ];
    (schema ?? feedEvent).parse(event);
    return event.type;
  }
  // A request has an id of its own, which no client of this test asks for.
  const schema = { ...REPLIES, ...PUSHED }[type as keyof typeof REPLIES];
  assert.ok(schema, `${type} is not described`);
  schema.parse(body);
  return type;
}

describe('what the channel says is as described', () => {
  const world = useOwnWorld();

  it('from the first answer to the last words', async () => {
    const token = async () => (await world.send('POST', '/api/v1/tokens')).json.token as string;
    const hook = { name: 'Chat', url: 'http://127.0.0.1:9/', events: [{ event: 'issue.created' }] };
    const webhookId = (await world.send('POST', '/api/v1/webhooks', { body: hook })).json.id;
    const rehearsal = { steps: 2, progress_events: 2, step_ms: 100 };
    const run = (await world.submit({ metadata: { rehearsal } })).json.execution_id;
    const room = `workflow:${run}`;

    const socket = new WebSocket(plainAddress(world.api.url, await token()));
    const said: Said[] = [];
    socket.on('message', (text) => said.push(JSON.parse((text as Buffer).toString())));
    await once(socket, 'open');
    for (const message of [
      { type: 'join', room, after: 0, id: 'mine' },
      { type: 'join', room: `webhook:${webhookId}` },
      { type: 'join', room: 'nowhere' },
      { type: 'renew', token: await token() },
      { type: 'sing' },
    ]) {
      socket.send(JSON.stringify(message));
    }
    await eventually('the run has ended', () => said.some(({ event }) => event?.type === 'run.ended'));
    await world.send('PATCH', `/api/v1/webhooks/${webhookId}`, { body: { name: 'Other' } });
    await eventually('the webhook has changed', () =>
      said.some(({ event }) => event?.type === 'webhook.changed'),
    );
    socket.send(JSON.stringify({ type: 'leave', room }));
    await eventually('it has left', () => said.some(({ type }) => type === 'left'));
    await world.api.close();
    await eventually('the last words', () => said.at(-1)?.type === 'closed');

    assert.equal(said[0].id, 'mine');
    const names = new Set(said.map(checked));
    for (const name of ['joined', 'refused', 'renewed', 'left', 'closed', 'step.progress', 'run.ended'])
      assert.ok(names.has(name), name);
  });
});
