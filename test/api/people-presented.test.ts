import assert from 'node:assert/strict';
import {
  ApiKey,
  AuditEntry,
  Invitation,
  Member,
  Notification,
  Project,
  Session,
  User,
} from '../../src/database/people/entities.ts';
import type { Scope } from '../../src/domain/people/access.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { services } from '../support/services.ts';
import { useWorld, type Sent } from '../support/world.ts';

const own = crypto.randomUUID().slice(4, 13);
/** Later than all rows that requests create, so that the stored rows are listed first. */
const idOf = (number: number) => `ffff${own}-7000-8000-${String(number).padStart(12, '0')}`;
const at = (day: number) => new Date(Date.UTC(2090, 0, day, 10, 11, 12, 345));
const textOf = (day: number) => `2090-01-${String(day).padStart(2, '0')}T10:11:12.345Z`;

/** Every field has another value, so that no field can be shown in the place of another one. */
describe('in the lists of the API', () => {
  const world = useWorld();
  let owner: Sent;
  let me: { id: string; email: string; name: string };
  before(async () => {
    owner = world.as(await world.signIn());
    me = (await world.send('GET', '/api/v1/session', owner)).json.user;
  });
  const entities = () => world.database.em.fork();
  const list = async (path: string, sent = owner) => (await world.send('GET', `/api/v1${path}`, sent)).json;
  const workspaceId = () => world.installation.workspace_id;
  const projectId = () => world.installation.project_id;
  /** Checks that a list has these rows first, and the same in pages of one. */
  async function assertListed(path: string, expected: readonly object[]): Promise<void> {
    const join = path.includes('?') ? '&' : '?';
    const { data } = await list(`${path}${join}limit=${expected.length}`);
    assert.deepEqual(data, expected);
    const first = await list(`${path}${join}limit=1`);
    assert.deepEqual(first.data, expected.slice(0, 1));
    const second = await list(`${path}${join}limit=1&cursor=${first.next_cursor}`);
    assert.deepEqual(second.data, expected.slice(1, 2));
  }

  it('keys have their project, creator, times and successor', async () => {
    const common = {
      workspace_id: workspaceId(),
      project_id: projectId(),
      scopes: ['events:write'] as Scope[],
    };
    const [one, two] = [
      { id: idOf(1), name: 'One', prefix: 'bt_one' },
      { id: idOf(2), name: 'Two', prefix: 'bt_two' },
    ];
    const times = { created_at: at(1), expires_at: at(2), last_used_at: at(3), revoked_at: at(4) };
    const replaced = { replaced_by: two.id, created_by: `user:${me.id}` };
    const system = { created_by: 'system', created_at: at(5) };
    await entities().insert(ApiKey, { ...common, ...one, ...times, ...replaced, key_hash: 'hash one' });
    await entities().insert(ApiKey, { ...common, ...two, ...system, key_hash: 'hash two' });
    const shown = { project_id: projectId(), scopes: ['events:write'] };
    const expected = [
      {
        ...two,
        ...shown,
        created_by: 'system',
        creator: null,
        created_at: textOf(5),
        expires_at: null,
        last_used_at: null,
        revoked_at: null,
        replaced_by: null,
      },
      {
        ...one,
        ...shown,
        created_by: `user:${me.id}`,
        creator: { id: me.id, name: me.name, email: me.email, removed: false },
        created_at: textOf(1),
        expires_at: textOf(2),
        last_used_at: textOf(3),
        revoked_at: textOf(4),
        replaced_by: two.id,
      },
    ];
    await assertListed('/keys', expected);
    await assertListed(`/keys?project_id=${projectId()}`, expected);
    const other = crypto.randomUUID();
    assert.deepEqual((await list(`/keys?project_id=${other}`)).data, []);
    assert.deepEqual((await list('/keys?active=true&limit=1')).data, [expected[0]]);
    await entities().nativeDelete(ApiKey, { id: [one.id, two.id] });
  });

  it('invitations have their inviter, status and times', async () => {
    const store = async (number: number, fields: object) => {
      const invitation = {
        id: idOf(number),
        workspace_id: workspaceId(),
        token_hash: `invitation ${number} ${me.id}`,
      };
      const role = 'viewer' as const;
      const about = { email: `i${number}@example.com`, role, created_at: at(1), expires_at: at(2) };
      await entities().insert(Invitation, { ...invitation, ...about, ...fields });
    };
    await store(1, { role: 'admin', invited_by: me.id, emailed_at: at(3), accepted_at: at(4) });
    await store(2, { revoked_at: at(5) });
    await store(3, { created_at: new Date(1), expires_at: new Date(2) });
    await store(4, {});
    const common = {
      role: 'viewer',
      invited_by: null,
      emailed_at: null,
      accepted_at: null,
      revoked_at: null,
    };
    const times = { created_at: textOf(1), expires_at: textOf(2) };
    const expected = [
      { ...common, ...times, id: idOf(4), email: 'i4@example.com', status: 'open' },
      {
        ...common,
        id: idOf(3),
        email: 'i3@example.com',
        status: 'expired',
        created_at: '1970-01-01T00:00:00.001Z',
        expires_at: '1970-01-01T00:00:00.002Z',
      },
      { ...common, ...times, id: idOf(2), email: 'i2@example.com', status: 'revoked', revoked_at: textOf(5) },
      {
        ...times,
        id: idOf(1),
        email: 'i1@example.com',
        role: 'admin',
        status: 'accepted',
        invited_by: { id: me.id, name: me.name },
        emailed_at: textOf(3),
        accepted_at: textOf(4),
        revoked_at: null,
      },
    ];
    await assertListed('/invitations', expected);
    for (const invitation of expected)
      assert.deepEqual((await list(`/invitations?status=${invitation.status}`)).data[0], invitation);
  });

  it('members have their role and the time when they joined', async () => {
    const stored = { id: idOf(11), email: `m-${me.email}`, name: 'Em', created_at: at(1) };
    await entities().insert(User, stored);
    const member = { workspace_id: workspaceId(), user_id: stored.id, role: 'admin' as const };
    await entities().insert(Member, { ...member, created_at: at(2) });
    const shown = { id: stored.id, email: stored.email, name: 'Em', role: 'admin', created_at: textOf(2) };
    assert.deepEqual((await list('/members?limit=1')).data, [shown]);
    const { json } = await world.send('PATCH', `/api/v1/members/${stored.id}`, {
      ...owner,
      body: { role: 'viewer' },
    });
    assert.deepEqual(json, { ...shown, role: 'viewer' });
    assert.equal((await world.send('DELETE', `/api/v1/members/${stored.id}`, owner)).status, 204);
    await entities().nativeDelete(User, { id: stored.id });
  });

  it('sessions have their device and times, and the current one is marked', async () => {
    const times = { created_at: at(1), last_seen_at: at(2), expires_at: at(3) };
    const device = { user_agent: 'a browser', address: '203.0.113.9' };
    const session = { id: idOf(21), user_id: me.id, token_hash: `session of ${me.id}` };
    await entities().insert(Session, { ...session, ...times, ...device });
    await entities().insert(Session, { ...session, id: idOf(22), token_hash: `other of ${me.id}`, ...times });
    const shown = { created_at: textOf(1), last_seen_at: textOf(2), expires_at: textOf(3), current: false };
    await assertListed('/sessions', [
      { id: idOf(22), user_agent: null, address: null, ...shown },
      { id: idOf(21), ...device, ...shown },
    ]);
    const { data } = await list('/sessions');
    assert.equal(data.filter(({ current }: { current: boolean }) => current).length, 1);
    await entities().nativeDelete(Session, { id: [idOf(21), idOf(22)] });
  });

  it('notifications have their subject, detail and times', async () => {
    const notice = { workspace_id: workspaceId(), user_id: me.id, detail: { name: 'Orders' } };
    const [one, two] = [`webhook:${idOf(1)}`, `task:${idOf(2)}`];
    await entities().insert(Notification, {
      ...notice,
      id: idOf(31),
      kind: 'webhook.disabled',
      subject: one,
      created_at: at(1),
      read_at: at(2),
      emailed_at: at(3),
    });
    const escalated = { id: idOf(32), kind: 'task.escalated', subject: two, created_at: at(4) };
    await entities().insert(Notification, { ...notice, ...escalated });
    const common = { detail: { name: 'Orders' }, open: false };
    const expected = [
      { ...common, ...escalated, created_at: textOf(4), read_at: null },
      {
        ...common,
        id: idOf(31),
        kind: 'webhook.disabled',
        subject: one,
        created_at: textOf(1),
        read_at: textOf(2),
      },
    ];
    await assertListed('/notifications', expected);
    const read = async (id: string) =>
      (await world.send('POST', `/api/v1/notifications/${id}/read`, owner)).json;
    assert.deepEqual(await read(idOf(31)), expected[1]);
    const { read_at: readAt, ...rest } = await read(idOf(32));
    assert.ok(Date.parse(readAt) < at(1).getTime());
    assert.deepEqual({ ...rest, read_at: null }, expected[0]);
  });

  it('audit entries have labels for their actor and subject, and match each filter', async () => {
    const key = { id: crypto.randomUUID(), workspace_id: workspaceId(), project_id: projectId(), name: 'CI' };
    const secret = {
      prefix: 'bt_audited',
      key_hash: key.id,
      scopes: [],
      created_by: 'system',
      created_at: at(1),
    };
    await entities().insert(ApiKey, { ...key, ...secret });
    const store = async (
      number: number,
      fields: { actor: string; action: string; subject: string; at: Date },
    ) => {
      const entry = { id: idOf(number), workspace_id: workspaceId(), detail: { number } };
      await entities().insert(AuditEntry, { ...entry, ...fields });
    };
    const [person, ci] = [`user:${me.id}`, `key:${key.id}`];
    await store(41, { actor: person, action: 'key.created', subject: ci, at: at(1) });
    await store(42, { actor: ci, action: 'task.erased', subject: 'task:x', at: at(2) });
    await store(43, { actor: 'system', action: 'member.removed', subject: person, at: at(3) });
    const show = (number: number, actor: string[], action: string, subject: string[], day: number) => ({
      id: idOf(number),
      actor: actor[0],
      action,
      subject: subject[0],
      actor_label: actor.at(-1),
      subject_label: subject.at(-1),
      detail: { number },
      at: textOf(day),
    });
    const [ofPerson, ofKey] = [
      [person, `user:${me.email}`],
      [ci, 'key:bt_audited'],
    ];
    const all = [
      show(43, ['system'], 'member.removed', ofPerson, 3),
      show(42, ofKey, 'task.erased', ['task:x'], 2),
      show(41, ofPerson, 'key.created', ofKey, 1),
    ];
    await assertListed('/audit-log', all);
    const find = async (query: string) =>
      (await list(`/audit-log?created_after=${textOf(1)}&${query}`)).data.map(({ id }: { id: string }) => id);
    assert.deepEqual(await find('limit=10'), [43, 42, 41].map(idOf));
    assert.deepEqual(await find(`actor=${ci}`), [idOf(42)]);
    assert.deepEqual(await find('action=task.erased,member.removed'), [43, 42].map(idOf));
    assert.deepEqual(await find(`created_before=${textOf(3)}`), [42, 41].map(idOf));
    const later = await list(`/audit-log?created_after=${textOf(2)}`);
    assert.deepEqual(later.data, all.slice(0, 2));
    await entities().nativeDelete(ApiKey, { id: key.id });
    await entities().nativeDelete(AuditEntry, { id: [41, 42, 43].map(idOf) });
  });

  it('projects have their key and time, and callers see themselves and their projects', async () => {
    const project = { id: idOf(51), key: 'SHOP', name: 'Shop' };
    await entities().insert(Project, { ...project, workspace_id: workspaceId(), created_at: at(1) });
    assert.deepEqual((await list('/projects?limit=1')).data, [{ ...project, created_at: textOf(1) }]);
    const first = { id: projectId(), key: 'FIRST', name: 'First' };
    const workspace = { id: workspaceId(), name: 'Test' };
    const temporal = { ui_url: services().temporalUiUrl, namespace: services().namespace };
    assert.deepEqual(await list('/me'), {
      kind: 'person',
      label: `user:${me.email}`,
      workspace,
      project: null,
      project_id: null,
      projects: [project, first],
      scopes: ['tasks:read', 'tasks:write', 'events:write', 'webhooks:read', 'webhooks:write'],
      role: 'owner',
      user: { ...me, has_password: true },
      key: null,
      temporal,
    });
    const stored = await entities().findOneOrFail(ApiKey, {
      workspace_id: workspaceId(),
    });
    const ofKey = {
      kind: 'key',
      label: `key:${stored.prefix}`,
      workspace,
      project: first,
      project_id: projectId(),
      projects: [first],
      scopes: stored.scopes,
      role: null,
      user: null,
      key: { id: stored.id, prefix: stored.prefix, name: stored.name },
      temporal: null,
    };
    assert.deepEqual(await list('/me', {}), ofKey);
    const { json: token } = await world.send('POST', '/api/v1/tokens');
    assert.deepEqual(await list('/me', { token: token.token }), { ...ofKey, kind: 'token', key: null });
    await entities().nativeUpdate(User, { id: me.id }, { password_hash: null });
    assert.equal((await list('/me')).user.has_password, false);
  });

  it('nothing of another workspace appears', async () => {
    const key = await addWorkspace(world);
    const theirs = await list('/me', { key });
    const viewer = world.as(await addPerson(world, owner.cookie ?? '', 'viewer'));
    for (const [path, sent] of [
      ['/keys', owner],
      ['/members', owner],
      ['/audit-log', owner],
      ['/projects', viewer],
    ] as const) {
      const { text } = await world.send('GET', `/api/v1${path}?limit=200`, sent);
      assert.ok(!text.includes(theirs.project_id) && !text.includes(theirs.key.id), path);
    }
  });
});
