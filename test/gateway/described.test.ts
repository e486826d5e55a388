import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { REPLIES, PUSHED } from '../../src/api/docs/channel-vocabulary.ts';
import { deliveryChanged, webhookChanged } from '../../src/domain/channel/channel-answers.ts';
import { feedEvent } from '../../src/domain/tasks/feed-schemas.ts';
import { type Received, useOwnWorld } from '../support/world.ts';
import { plainAddress } from '../support/following.ts';
import { eventually } from '../support/eventually.ts';

type Message = Received['json'];

/** Parses a message with its schema. Returns its name. */
function validatedName(message: Message): string {
  const { type, id: _, ...body } = message;
  if (type === 'event') {
    const { event } = body;
    const schema = { 'delivery.changed': deliveryChanged, 'webhook.changed': webhookChanged }[
      event.type as string
    ];
    (schema ?? feedEvent).parse(event);
    return event.type;
  }
  // No client of this test listens, so no message of the type `request` arrives.
  const schema = { ...REPLIES, ...PUSHED }[type as keyof typeof REPLIES];
  assert.ok(schema, `${type} is not described`);
  schema.parse(body);
  return type;
}

describe('the live channel', () => {
  const world = useOwnWorld();

  it('sends only messages that match their schemas', async () => {
    const token = async () => (await world.send('POST', '/api/v1/tokens')).json.token as string;
    const hook = { name: 'Chat', url: 'http://127.0.0.1:9/', events: [{ event: 'issue.created' }] };
    const webhookId = (await world.send('POST', '/api/v1/webhooks', { body: hook })).json.id;
    const rehearsal = { steps: 2, progress_events: 2, step_ms: 100 };
    const run = (await world.submit({ metadata: { rehearsal } })).json.execution_id;
    const room = `workflow:${run}`;

    const socket = new WebSocket(plainAddress(world.api.url, await token()));
    const messages: Message[] = [];
    socket.on('message', (text) => messages.push(JSON.parse((text as Buffer).toString())));
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
    await eventually('the run has ended', () => messages.some(({ event }) => event?.type === 'run.ended'));
    await world.send('PATCH', `/api/v1/webhooks/${webhookId}`, { body: { name: 'Other' } });
    await eventually('the webhook has changed', () =>
      messages.some(({ event }) => event?.type === 'webhook.changed'),
    );
    socket.send(JSON.stringify({ type: 'leave', room }));
    await eventually('the client has left the room', () => messages.some(({ type }) => type === 'left'));
    await world.api.close();
    await eventually('the closing message arrives', () => messages.at(-1)?.type === 'closed');

    assert.equal(messages[0].id, 'mine');
    const names = new Set(messages.map(validatedName));
    for (const name of ['joined', 'refused', 'renewed', 'left', 'closed', 'step.progress', 'run.ended'])
      assert.ok(names.has(name), name);
  });
});
