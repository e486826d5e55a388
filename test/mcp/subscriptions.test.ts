import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { MAX_EVENT_STREAMS, MAX_SUBSCRIBED_RESOURCES } from '../../src/domain/common/limits.ts';
import { keyWith } from '../api/keys.ts';
import { eventually } from '../support/eventually.ts';
import { addWorkspace } from '../support/people.ts';
import { useWorld } from '../support/world.ts';
import { call, connect } from './client.ts';

describe('subscriptions to resources', () => {
  const world = useWorld();
  let client: Client;
  before('connect', async () => {
    client = await connect(world);
  });
  after('disconnect', () => client.close());

  const submit = async (rehearsal: object) =>
    (await call(client, 'submit_task', { title: 'A task', metadata: { rehearsal } })).execution_id;
  /** Collects the URIs of changed resources. */
  const collecting = (listening: Client) => {
    const changed: string[] = [];
    listening.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      changed.push(params.uri);
    });
    return changed;
  };

  it('report each change of a run, in the URIs that were asked for', async () => {
    const changed = collecting(client);
    const id = await submit({ steps: 1, ask: { step: 1, question: 'Which?' } });
    const other = await submit({ steps: 1, ask: { step: 1, question: 'Which?' } });
    await Promise.all([world.reaches(id, 'paused'), world.reaches(other, 'paused')]);
    const uris = [`baton://tasks/${id}`, `baton://tasks/${id}/events`];
    const subscription = await client.listen({ resourceSubscriptions: uris });
    await call(client, 'continue_task', { execution_id: other, reason: 'This' });
    await world.reaches(other, 'completed');
    await call(client, 'continue_task', { execution_id: id, reason: 'This' });
    await world.reaches(id, 'completed');
    await eventually('both resources have changed', () => uris.every((uri) => changed.includes(uri)));
    assert.deepEqual(
      changed.filter((uri) => !uris.includes(uri)),
      [],
    );
    await subscription.close();
  });

  it('end with the credential', async () => {
    const mine = await world.signIn();
    const body = { name: 'Short', scopes: ['tasks:read'], project_id: world.installation.project_id };
    const { json: key } = await world.send('POST', '/api/v1/keys', { ...world.as(mine), body });
    const reader = await connect(world, { headers: { 'X-API-Key': key.key } });
    const id = await submit({ step_ms: 60_000 });
    const subscription = await reader.listen({ resourceSubscriptions: [`baton://tasks/${id}`] });
    await world.send('DELETE', `/api/v1/keys/${key.id}`, world.as(mine));
    assert.equal(await subscription.closed, 'graceful');
    await reader.close();
    await call(client, 'cancel_task', { execution_id: id });
  });

  it('are refused for resources that do not exist, belong to others, or need another scope', async () => {
    const id = await submit({ steps: 1 });
    const stranger = await connect(world, { headers: { 'X-API-Key': await addWorkspace(world) } });
    const writer = await connect(world, {
      headers: { 'X-API-Key': await keyWith(world, ['tasks:write']) },
    });
    const listen = (listening: Client, uri: string) => listening.listen({ resourceSubscriptions: [uri] });
    await assert.rejects(listen(stranger, `baton://tasks/${id}`), /not found/i);
    await assert.rejects(listen(client, `baton://tasks/${randomUUID()}`), /not found/i);
    await assert.rejects(listen(client, 'file:///etc/passwd'), /not found/i);
    await assert.rejects(listen(writer, `baton://tasks/${id}`), /tasks:read/);
    await stranger.close();
    await writer.close();
  });

  it('are refused if they are too many', async () => {
    const id = await submit({ steps: 1 });
    const uri = `baton://tasks/${id}`;
    const many = Array.from({ length: MAX_SUBSCRIBED_RESOURCES + 1 }, (_, at) => `${uri}/artifacts/${at}`);
    await assert.rejects(client.listen({ resourceSubscriptions: many }), /Too many subscriptions/);
    const all = await client.listen({ resourceSubscriptions: many.slice(1) });
    await all.close();
    const open = await Promise.all(
      Array.from({ length: MAX_EVENT_STREAMS }, () => client.listen({ resourceSubscriptions: [uri] })),
    );
    await assert.rejects(client.listen({ resourceSubscriptions: [uri] }), /429|100 open/);
    const headers = { Accept: 'text/event-stream' };
    const stream = await world.send('GET', `/api/v1/tasks/${id}/events`, { headers });
    assert.equal(stream.status, 429, 'streams of all protocols count together');
    await open[0]?.close();
    await eventually('another one is accepted', async () => {
      const next = await client.listen({ resourceSubscriptions: [uri] }).catch(() => null);
      await next?.close();
      return next !== null;
    });
    await Promise.all(open.map((subscription) => subscription.close()));
  });
});
