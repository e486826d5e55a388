import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { Role } from '../../src/domain/people/access.ts';
import { createKey } from '../../src/database/people/keys.ts';
import { addMember, changeRole, removeMember } from '../../src/database/people/members.ts';
import { signInByOpenId } from '../../src/database/people/openid.ts';
import { createWorkspace } from '../../src/runtime/installation.ts';
import { useInstallation } from '../support/installation.ts';
import { whileLocked, type Statement } from '../support/locked.ts';

const now = new Date();

describe('a person who was removed and becomes a member again', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[]) => fresh.database.em.fork().execute(text, values);
  const session = { userAgent: null, address: null, now, expiresAt: new Date(now.getTime() + 60_000) };

  /** Leaves a session of a removed person, as a sign-in that overlaps with the removal does. */
  const leaveSession = async (tokenHash: string) => {
    const id = randomUUIDv7();
    const email = `${tokenHash}@example.com`;
    await execute(`insert into users (id, email, name, created_at) values (?, ?, 'Bo', now())`, [id, email]);
    await execute(
      `insert into sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at)
       values (?, ?, ?, now(), now(), now() + interval '1 day')`,
      [randomUUIDv7(), id, tokenHash],
    );
    return { id, email };
  };
  const sessionsOf = async (email: string) => {
    const rows = await execute(
      'select token_hash from sessions s join users u on u.id = s.user_id where u.email = ?',
      [email],
    );
    return rows.map((row) => row['token_hash']);
  };

  it('has no session from before, if an admin adds the person', async () => {
    const { email } = await leaveSession('added');
    const { workspace_id: workspaceId } = fresh.installation;
    const plan = {
      workspaceId,
      email,
      name: 'Bo',
      role: 'member',
      passwordHash: 'x',
      actor: 'system',
      now,
    } as const;
    await addMember(fresh.database, plan);
    assert.deepEqual(await sessionsOf(email), []);
  });

  it('has only the new session, if the person joins by OpenID Connect', async () => {
    const { email } = await leaveSession('joined');
    await signInByOpenId(fresh.database, {
      person: { issuer: 'https://id.example.com', subject: 'bo', email, name: 'Bo' },
      joining: { domains: ['example.com'], role: 'member' },
      session: { ...session, tokenHash: 'new' },
      now,
    });
    assert.deepEqual(await sessionsOf(email), ['new']);
  });

  it('has no session from before, if two workspaces removed the person at the same moment', async () => {
    const { id, email } = await leaveSession('removed twice');
    const { workspace_id: workspaceId } = fresh.installation;
    const em = fresh.database.em.fork();
    const other = await createWorkspace(em, {
      workspaceName: 'Other',
      projectName: 'Other',
      adminEmail: 'other@example.com',
    });
    for (const one of [workspaceId, other.workspace_id])
      await execute(
        `insert into members (workspace_id, user_id, role, created_at) values (?, ?, 'member', now())`,
        [one, id],
      );
    const removal: Statement[] = [
      ['select pg_advisory_xact_lock(hashtext($1))', `baton user ${email}`],
      ['delete from members where workspace_id = $1 and user_id = $2', other.workspace_id, id],
    ];
    await whileLocked(fresh.database, removal, () =>
      removeMember(fresh.database, {
        workspaceId,
        userId: id,
        actor: 'system',
        revokeKeys: false,
        now,
      }),
    );
    assert.deepEqual(await sessionsOf(email), []);
  });
});

describe('a change of members by a person whose role was lowered in the meantime', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[]) => fresh.database.em.fork().execute(text, values);

  /** Stores a person; with a role, as a member. */
  const person = async (email: string, role: Role | null) => {
    const id = randomUUIDv7();
    await execute(`insert into users (id, email, name, created_at) values (?, ?, 'Bo', now())`, [id, email]);
    const { workspace_id: workspaceId } = fresh.installation;
    if (role !== null) await execute('insert into members values (?, ?, ?, now())', [workspaceId, id, role]);
    return id;
  };

  for (const [what, role] of [
    ['a member', 'member'],
    ['not a member anymore', null],
  ] as const) {
    it(`is refused if the person is ${what}`, async () => {
      const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
      const actor = `user:${await person(`actor-${role}@example.com`, role)}`;
      const userId = await person(`other-${role}@example.com`, 'viewer');
      const change = { workspaceId, userId, actor, now };
      assert.equal(await changeRole(fresh.database, change, 'admin'), 'admins_only');
      assert.equal(await removeMember(fresh.database, { ...change, revokeKeys: true }), 'admins_only');
      const plan = {
        workspaceId,
        email: `new-${role}@example.com`,
        name: 'New',
        passwordHash: 'x',
        actor,
        now,
      };
      assert.equal(await addMember(fresh.database, { ...plan, role: 'admin' }), 'admins_only');
      const secret = { prefix: 'bt_x', hash: randomUUIDv7() };
      const key = { secret, workspaceId, projectId, name: 'Late', scopes: [], actor, expiresAt: null, now };
      assert.equal(await createKey(fresh.database, key), null);
    });
  }

  it('may not concern owners if the person is not an owner anymore', async () => {
    const { workspace_id: workspaceId } = fresh.installation;
    const actor = `user:${await person('not-owner@example.com', 'admin')}`;
    const userId = await person('owner-too@example.com', 'owner');
    const change = { workspaceId, userId, actor, now };
    assert.equal(await changeRole(fresh.database, change, 'viewer'), 'owners_only');
    assert.equal(await removeMember(fresh.database, { ...change, revokeKeys: false }), 'owners_only');
    const plan = { workspaceId, email: 'new-owner@example.com', name: 'New', passwordHash: 'x', actor, now };
    assert.equal(await addMember(fresh.database, { ...plan, role: 'owner' }), 'owners_only');
  });
});
