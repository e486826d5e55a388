import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { keyWith } from '../api/keys.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { useWorld } from '../support/world.ts';
import { call, connect, PROTOCOLS, refused } from './client.ts';

for (const protocol of PROTOCOLS) {
  describe(`calls of MCP ${protocol} that are refused`, () => {
    const world = useWorld();
    let client: Client;
    before('connect', async () => {
      client = await connect(world, { protocol });
    });
    after('disconnect', () => client.close());

    it('name an unknown tool, which is an error of the protocol', async () => {
      await assert.rejects(client.callTool({ name: 'erase_everything', arguments: {} }), { code: -32_602 });
    });

    it('have invalid arguments, and get all errors', async () => {
      const problem = await refused(client, 'submit_task', { title: '', task_type: 'poem', colour: 'green' });
      assert.equal(problem.code, 'validation_failed');
      assert.deepEqual(
        problem.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`).toSorted(),
        ['/colour unknown_member', '/task_type not_allowed', '/title too_short'],
      );
      assert.equal((await refused(client, 'get_task')).errors[0].code, 'required');
      assert.equal((await refused(client, 'get_task', { execution_id: 'x' })).code, 'validation_failed');
      const unknown = { execution_id: randomUUID(), colour: 'green' };
      assert.equal((await refused(client, 'get_task', unknown)).errors[0].code, 'unknown_member');
      assert.equal((await refused(client, 'list_tasks', { limit: 1_000 })).errors[0].code, 'not_allowed');
      const long = { execution_id: randomUUID(), seconds: 3_600 };
      assert.equal((await refused(client, 'wait_for_task', long)).errors[0].code, 'too_large');
      assert.equal(
        (await refused(client, 'send_event', { event: 'issue.deleted' })).code,
        'validation_failed',
      );
    });

    it('are about tasks of others, as if they did not exist', async () => {
      const stranger = await connect(world, {
        protocol,
        headers: { 'X-API-Key': await addWorkspace(world) },
      });
      const { execution_id } = await call(client, 'submit_task', { title: 'Mine' });
      const names = [
        'get_task',
        'wait_for_task',
        'pause_task',
        'cancel_task',
        'rerun_task',
        'list_artifacts',
      ];
      for (const name of names) {
        const problem = await refused(stranger, name, { execution_id });
        const absent = await refused(client, name, { execution_id: randomUUID() });
        assert.deepEqual([problem.code, problem.detail], ['not_found', absent.detail], name);
      }
      const { project_id } = world.installation;
      const problem = await refused(stranger, 'submit_task', { title: 'Theirs', project_id });
      assert.equal(problem.code, 'project_not_allowed');
      await stranger.close();
    });

    it('lack the scope', async () => {
      const reader = await connect(world, {
        protocol,
        headers: { 'X-API-Key': await keyWith(world, ['tasks:read']) },
      });
      const { tools } = await reader.listTools();
      assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
        'get_task',
        'list_artifacts',
        'list_tasks',
        'read_artifact',
        'wait_for_task',
      ]);
      assert.equal((await refused(reader, 'submit_task', { title: 'No' })).code, 'forbidden');
      assert.equal((await refused(reader, 'list_webhooks')).code, 'forbidden');
      await reader.close();
    });

    it("are a viewer's who wants to change something", async () => {
      const cookie = await addPerson(world, await world.signIn(), 'viewer');
      const body = { project_id: world.installation.project_id };
      const { json } = await world.send('POST', '/api/v1/tokens', { ...world.as(cookie), body });
      const viewer = await connect(world, { protocol, headers: { Authorization: `Bearer ${json.token}` } });
      const { execution_id } = await call(client, 'submit_task', { title: 'Seen' });
      assert.equal((await call(viewer, 'get_task', { execution_id })).title, 'Seen');
      assert.equal((await refused(viewer, 'cancel_task', { execution_id })).code, 'forbidden');
      await viewer.close();
    });
  });
}
