import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { keyWith } from '../api/keys.ts';
import { addWorkspace } from '../support/people.ts';
import { useWorld } from '../support/world.ts';
import { call, connect, PROTOCOLS } from './client.ts';

for (const protocol of PROTOCOLS) {
  describe(`resources and prompts for clients of MCP ${protocol}`, () => {
    const world = useWorld();
    let client: Client;
    before('connect', async () => {
      client = await connect(world, { protocol });
    });
    after('disconnect', () => client.close());

    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents;
      return content as { uri: string; mimeType: string; text: string };
    };

    it('are a run, its events and its documents', async () => {
      const artifact = { step: 1, name: 'a note.md', media_type: 'text/markdown', text: '# Größe\n' };
      const metadata = { rehearsal: { steps: 1, artifact } };
      const { execution_id: id } = await call(client, 'submit_task', { title: 'A task', metadata });
      await world.reaches(id, 'completed');
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.deepEqual(
        resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        [
          'baton://tasks/{execution_id}',
          'baton://tasks/{execution_id}/events{?after}',
          'baton://tasks/{execution_id}/artifacts/{name}',
        ],
      );
      assert.equal(
        (await read(`baton://tasks/${id}`)).text,
        (await world.send('GET', `/api/v1/tasks/${id}`)).text,
      );
      const events = await world.send('GET', `/api/v1/tasks/${id}/events`);
      assert.deepEqual(JSON.parse((await read(`baton://tasks/${id}/events`)).text).data, events.json.data);
      const note = await read(`baton://tasks/${id}/artifacts/a%20note.md`);
      assert.deepEqual([note.mimeType, note.text], ['text/markdown', artifact.text]);
    });

    it('are not found if they do not exist, or belong to others', async () => {
      const stranger = await connect(world, {
        protocol,
        headers: { 'X-API-Key': await addWorkspace(world) },
      });
      const { execution_id: id } = await call(client, 'submit_task', { title: 'Mine' });
      await assert.rejects(stranger.readResource({ uri: `baton://tasks/${id}` }), /not found/i);
      await stranger.close();
      for (const uri of [
        `baton://tasks/${randomUUID()}`,
        `baton://tasks/${id}/artifacts/missing`,
        `baton://tasks/${id}/artifacts/%ff`,
        'baton://webhooks',
        'file:///etc/passwd',
      ]) {
        await assert.rejects(client.readResource({ uri }), /not found/i, uri);
      }
    });

    it('need the scope to read', async () => {
      const key = await keyWith(world, ['tasks:write']);
      const writer = await connect(world, { protocol, headers: { 'X-API-Key': key } });
      await assert.rejects(writer.readResource({ uri: `baton://tasks/${randomUUID()}` }), /tasks:read/);
      await writer.close();
    });

    it('contain prompts that submit', async () => {
      const { prompts } = await client.listPrompts();
      assert.deepEqual(
        prompts.map(({ name }) => name),
        ['submit_bug', 'submit_feature', 'submit_spec'],
      );
      const prompt = { name: 'submit_bug', arguments: { request: 'The button does nothing' } };
      const { messages } = await client.getPrompt(prompt);
      assert.match(JSON.stringify(messages), /The button does nothing.*submit_task|submit_task.*The button/);
      await assert.rejects(client.getPrompt({ ...prompt, name: 'submit_poem' }), { code: -32_602 });
      await assert.rejects(client.getPrompt({ name: 'submit_bug' }), { code: -32_602 });
    });
  });
}
