import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createKey } from '../../src/database/people/keys.ts';
import { removeMember } from '../../src/database/people/members.ts';
import { openPlain } from '../support/plain-channel.ts';
import { PASSWORD, type Sent, useWorld } from '../support/world.ts';
import { assertProblem } from './problems.ts';

describe('the keys of a member who is removed', () => {
  const world = useWorld();
  let owner: Sent;
  before(async () => {
    owner = world.as(await world.signIn());
  });

  /** An admin, with the number of active keys. */
  const admin = async (keys: number) => {
    const email = `ada-${randomUUID()}@example.com`;
    const body = { email, name: 'Ada', role: 'admin', password: PASSWORD };
    const { json: member } = await world.send('POST', '/api/v1/members', { ...owner, body });
    const as = world.as(await world.signIn(email));
    const made = [];
    for (let count = 0; count < keys; count += 1) made.push(await newKey(as));
    return { id: member.id as string, email, as, keys: made };
  };
  const newKey = async (as: Sent) => {
    const body = { name: 'Nightly', project_id: world.installation.project_id, scopes: ['tasks:read'] };
    return (await world.send('POST', '/api/v1/keys', { ...as, body })).json;
  };
  const keysOf = async (id: string, more = '') =>
    (await world.send('GET', `/api/v1/keys?created_by=${id}${more}`, owner)).json.data;
  const remove = (id: string, query = '') => world.send('DELETE', `/api/v1/members/${id}${query}`, owner);
  const isAccepted = async ({ key }: { key: string }) =>
    (await world.send('GET', '/api/v1/tasks', { key })).status === 200;
  const revocations = async () =>
    (await world.send('GET', '/api/v1/audit-log?action=key.revoked&limit=200', owner)).json.data;

  it('are listed by the person who created them, the active ones alone if wanted', async () => {
    const ada = await admin(3);
    const mine = await newKey(owner);
    const [first] = ada.keys;
    await world.send('DELETE', `/api/v1/keys/${first.id}`, owner);
    const ids = (keys: { id: string }[]) => keys.map(({ id }) => id).toSorted();
    assert.deepEqual(ids(await keysOf(ada.id)), ids(ada.keys));
    assert.deepEqual(ids(await keysOf(ada.id, '&active=true')), ids(ada.keys.slice(1)));
    assert.deepEqual(await keysOf(randomUUID()), []);
    assert.equal((await world.send('GET', '/api/v1/keys?active=maybe', owner)).status, 400);
    assert.deepEqual([mine.creator.removed, mine.creator.email], [false, world.installation.admin_email]);
    assert.deepEqual(first.creator, { id: ada.id, name: 'Ada', email: ada.email, removed: false });
  });

  it('are kept unless asked, and the list of keys says that their creator was removed', async () => {
    const ada = await admin(1);
    assert.equal((await remove(ada.id)).status, 204);
    const [kept] = await keysOf(ada.id);
    assert.deepEqual(kept.creator, { id: ada.id, name: 'Ada', email: ada.email, removed: true });
    assert.equal(kept.revoked_at, null);
    assert.ok(await isAccepted(ada.keys[0]));
  });

  it('are revoked if asked, each with an audit entry, and nobody else’s are', async () => {
    const [ada, eve] = [await admin(2), await admin(1)];
    const [first, second] = ada.keys;
    await world.send('DELETE', `/api/v1/keys/${first.id}`, owner);
    const [{ revoked_at: earlier }] = (await keysOf(ada.id)).slice(-1);
    const before = (await revocations()).length;
    assert.ok(await isAccepted(second));
    assert.equal((await remove(ada.id, '?revoke_keys=true')).status, 204);
    assert.deepEqual(await keysOf(ada.id, '&active=true'), []);
    assert.equal(await isAccepted(second), false);
    assert.ok(await isAccepted(eve.keys[0]));
    assert.equal((await keysOf(ada.id)).at(-1).revoked_at, earlier, 'a revoked key stays as it was');
    const entries = await revocations();
    assert.equal(entries.length, before + 1);
    assert.equal(entries[0].subject, `key:${second.id}`);
    assert.equal(entries[0].actor_label, `user:${world.installation.admin_email}`);
    const { json } = await world.send('GET', '/api/v1/audit-log?action=member.removed', owner);
    assert.equal(json.data[0].detail.keys, 'revoked');
  });

  it('end their live channels and event streams when they are revoked', async () => {
    const ada = await admin(1);
    const [{ key }] = ada.keys;
    const { json: run } = await world.submit({ metadata: { rehearsal: { plan_ms: 600_000 } } });
    const path = `/api/v1/tasks/${run.execution_id}`;
    await world.reaches(run.execution_id, 'planning');
    const { json: token } = await world.send('POST', '/api/v1/tokens', { key });
    const channel = await openPlain(world.api.url, token.token);
    const headers = { Accept: 'text/event-stream', 'X-API-Key': key };
    const stream = await fetch(`${world.api.url}${path}/events`, { headers });
    const ended = stream.text();
    await remove(ada.id, '?revoke_keys=true');
    assert.equal((await channel.closed).reason, 'token_invalid');
    await ended;
    assert.equal((await world.send('GET', path)).json.state, 'planning');
    await channel.close();
    await world.send('POST', `${path}/cancel`);
  });

  it('stay valid if the member may not be removed', async () => {
    const ada = await admin(1);
    const { json } = await world.send('GET', '/api/v1/members', owner);
    const { id } = json.data.find((one: { role: string }) => one.role === 'owner');
    const refused = await world.send('DELETE', `/api/v1/members/${id}?revoke_keys=true`, ada.as);
    assertProblem(refused, 403, 'forbidden');
    assert.ok(await isAccepted({ key: world.installation.api_key }));
  });

  it('stay where there is no such member, whatever the id', async () => {
    for (const id of [randomUUID(), 'nobody', '%00'])
      assertProblem(await remove(id, '?revoke_keys=true'), 404, 'not_found');
  });

  it('cannot be created by a request that the removal overtakes', async () => {
    const ada = await admin(0);
    const { workspace_id: workspaceId, project_id: projectId } = world.installation;
    const now = new Date();
    const actor = `user:${ada.id}`;
    const which = { workspaceId, userId: ada.id, actor: 'system', now } as const;
    await removeMember(world.database, { ...which, revokeKeys: true });
    const secret = { prefix: 'bt_x', hash: randomUUID() };
    const plan = { secret, workspaceId, projectId, name: 'Late', scopes: [], actor, expiresAt: null, now };
    assert.equal(await createKey(world.database, plan), null);
    assert.deepEqual(await keysOf(ada.id), []);
  });
});
