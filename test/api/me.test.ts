import assert from 'node:assert/strict';
import { addPerson } from '../support/people.ts';
import { services } from '../support/services.ts';
import { useWorld } from '../support/world.ts';

describe('GET /api/v1/me', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const me = async (sent: object = {}) => (await world.send('GET', '/api/v1/me', sent)).json;

  it('returns all projects of a user, and the project of a key', async () => {
    const body = { name: 'Second', key: 'SECOND' };
    await world.send('POST', '/api/v1/projects', { ...world.as(owner), body });
    const keys = (answer: { projects: { key: string }[] }) => answer.projects.map(({ key }) => key);
    const person = await me({ cookie: owner });
    assert.deepEqual([keys(person), person.project], [['SECOND', 'FIRST'], null]);
    assert.deepEqual([person.role, person.workspace.name, person.user.has_password], ['owner', 'Test', true]);
    const key = await me();
    assert.deepEqual([keys(key), key.project.key, key.project_id], [['FIRST'], 'FIRST', key.project.id]);
    assert.equal(key.user, null);
  });

  it('returns the URL of the Temporal Web UI to members and above', async () => {
    const [member, viewer] = [
      await addPerson(world, owner, 'member'),
      await addPerson(world, owner, 'viewer'),
    ];
    for (const cookie of [owner, member]) {
      const { temporal } = await me({ cookie });
      assert.deepEqual(temporal, { ui_url: services().temporalUiUrl, namespace: services().namespace });
    }
    for (const sent of [{ cookie: viewer }, {}]) assert.equal((await me(sent)).temporal, null);
  });
});
