import assert from 'node:assert/strict';
import { acceptInvitation, findInvitation, type Accepting } from '../../src/database/people/acceptance.ts';
import { listAudit } from '../../src/database/people/audit.ts';
import { ApiKey, Identity, Invitation, Member, Session, User } from '../../src/database/people/entities.ts';
import {
  createInvitation,
  listInvitations,
  markInvitationMailed,
  revokeInvitation,
} from '../../src/database/people/invitations.ts';
import { createKey, revokeKey, rotateKey } from '../../src/database/people/keys.ts';
import {
  addMember,
  changeRole,
  findForSignIn,
  listMembers,
  removeMember,
} from '../../src/database/people/members.ts';
import { signInByOpenId } from '../../src/database/people/openid.ts';
import { changePassword, resetPassword } from '../../src/database/people/passwords.ts';
import { createProject } from '../../src/database/people/projects.ts';
import {
  endOtherSessions,
  endSession,
  findActiveSession,
  recordSessionUse,
  startSession,
} from '../../src/database/people/sessions.ts';
import type { Role } from '../../src/domain/people/access.ts';
import { createWorkspace, type Installation } from '../../src/runtime/installation.ts';
import { useInstallation } from '../support/installation.ts';

const DAY_MS = 86_400_000;
const begun = Date.now();
const at = (ms: number) => new Date(begun + ms);

/** An entry of the audit log. */
type Entry = [at: Date, actor: string, action: string, subject: string, detail: object];

describe('a change of people', () => {
  const fresh = useInstallation();
  const entities = () => fresh.database.em.fork();
  const first = () => fresh.installation.workspace_id;
  let made = 0;

  /** Creates another workspace. Returns it with the id of its owner. */
  async function newWorkspace(): Promise<Installation & { owner: string }> {
    const adminEmail = `owner-${(made += 1)}@example.com`;
    const names = { workspaceName: `Workspace ${made}`, projectName: 'Project' };
    const workspace = await createWorkspace(entities(), { ...names, adminEmail });
    const { id: owner } = await entities().findOneOrFail(User, { email: adminEmail });
    return { ...workspace, owner };
  }
  /** Stores a person with the password hash `hash`. Returns the id and the address. */
  async function newPerson(...roles: [workspaceId: string, role: Role, joined?: Date][]) {
    const id = crypto.randomUUID();
    const email = `person-${(made += 1)}@example.com`;
    const person = { id, email, name: `Person ${made}`, created_at: at(0) };
    await entities().insert(User, { ...person, password_hash: 'hash' });
    for (const [workspace_id, role, joined = at(0)] of roles)
      await entities().insert(Member, { workspace_id, user_id: id, role, created_at: joined });
    return person;
  }
  const sessionOf = (tokenHash: string, ms: number) => ({
    tokenHash,
    userAgent: `agent of ${tokenHash}`,
    address: `address of ${tokenHash}`,
    now: at(ms),
    expiresAt: at(ms + DAY_MS),
  });
  const idOfSession = async (tokenHash: string) =>
    (await entities().findOneOrFail(Session, { token_hash: tokenHash })).id;
  /** Returns entries by time and action: those of one millisecond have ids in any order. */
  const inOrder = (entries: readonly Entry[]) =>
    entries.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const keyOf = ([when, , action]: Entry) => `${when.toISOString()} ${action}`;
  const plain = (row: object) => JSON.parse(JSON.stringify(row)) as Record<string, unknown>;

  it('is recorded with who changed what, where, when and how', async () => {
    const { workspace_id: workspaceId, project_id: projectId, owner } = await newWorkspace();
    const expected: Entry[] = [];
    /** Returns what a change is about, and expects its entries. */
    const expectEntries = (
      ms: number,
      actor: string,
      ...entries: [action: string, subject: string, detail: object][]
    ) =>
      expected.push(
        ...entries.map(([action, subject, detail]): Entry => [at(ms), actor, action, subject, detail]),
      );
    const by = `user:${owner}`;
    const change = (ms: number) => ({ workspaceId, actor: by, now: at(ms) });

    const project = await createProject(fresh.database, { ...change(1), key: 'TWO', name: 'Second' });
    expectEntries(1, by, ['project.created', `project:${project?.id}`, { key: 'TWO', name: 'Second' }]);

    const bo = { email: 'bo@example.com', name: 'Bo', passwordHash: 'first hash' };
    const added = await addMember(fresh.database, { ...change(2), ...bo, role: 'viewer' });
    assert.ok(typeof added === 'object');
    const { id: userId } = added;
    const them = `user:${userId}`;
    expectEntries(2, by, ['member.added', them, { email: bo.email, role: 'viewer' }]);
    await changeRole(fresh.database, { ...change(3), userId }, 'admin');
    const roles = { email: bo.email, from: 'viewer', to: 'admin' };
    expectEntries(3, by, ['member.role_changed', them, roles]);

    const key = { projectId, name: 'CI', scopes: ['tasks:read' as const], expiresAt: null };
    const secret = { prefix: 'bt_first', hash: 'hash of the first key' };
    const old = await createKey(fresh.database, { ...change(4), ...key, actor: them, secret });
    assert.ok(old);
    const { name, scopes } = key;
    const created = { prefix: 'bt_first', name, project_id: projectId, scopes };
    expectEntries(4, them, ['key.created', `key:${old.id}`, created]);
    const next = await rotateKey(fresh.database, {
      ...change(5),
      actor: them,
      id: old.id,
      oldUntil: at(DAY_MS),
      secret: { prefix: 'bt_next', hash: 'hash of the next key' },
    });
    assert.ok(typeof next === 'object' && next !== null);
    const rotated = { prefix: 'bt_first', replaced_by: next.id, old_until: at(DAY_MS).toISOString() };
    expectEntries(5, them, ['key.rotated', `key:${old.id}`, rotated]);
    await revokeKey(fresh.database, { ...change(6), id: old.id });
    expectEntries(6, by, ['key.revoked', `key:${old.id}`, { prefix: 'bt_first', name }]);

    const started = (id: string, how: string): [string, string, object] => [
      'session.started',
      `session:${id}`,
      { by: how },
    ];
    for (const [token, ms] of [
      ['one', 7],
      ['two', 8],
      ['three', 9],
      ['four', 10],
    ] as const) {
      const session = { ...sessionOf(token, ms), userId, workspaceId, passwordHash: 'first hash' };
      assert.ok(await startSession(fresh.database, session));
      expectEntries(ms, them, started(await idOfSession(token), 'password'));
    }
    const who = { userId, workspaceId };
    const [ended, kept] = [await idOfSession('one'), await idOfSession('two')];
    assert.ok(await endSession(fresh.database, { ...who, id: ended, now: at(11) }));
    expectEntries(11, them, ['session.ended', `session:${ended}`, {}]);
    const rest = { ...who, keptId: kept, now: at(12) };
    assert.equal(await endOtherSessions(fresh.database, rest), 2);
    expectEntries(12, them, ['session.others_ended', `session:${kept}`, { count: 2 }]);
    const last = { ...sessionOf('five', 13), ...who, passwordHash: 'first hash' };
    assert.ok(await startSession(fresh.database, last));
    expectEntries(13, them, started(await idOfSession('five'), 'password'));
    const hashes = { oldHash: 'first hash', newHash: 'second hash', tokenHash: 'six' };
    assert.ok(await changePassword(fresh.database, { ...who, ...hashes, sessionId: kept, now: at(14) }));
    expectEntries(14, them, ['person.password_changed', them, { sessions_ended: 1 }]);

    const invite = (ms: number, email: string, userIdOfInviter: string) => {
      const plan = { email, role: 'viewer' as const, tokenHash: `token ${ms}`, expiresAt: at(DAY_MS) };
      return createInvitation(fresh.database, { ...plan, workspaceId, userId: userIdOfInviter, now: at(ms) });
    };
    const invited = async (ms: number, email: string, userIdOfInviter = owner) => {
      const row = await invite(ms, email, userIdOfInviter);
      assert.ok(typeof row === 'object');
      const entry = { email, role: 'viewer' };
      return { id: row.id, subject: `invitation:${row.id}`, detail: entry };
    };
    const replaced = await invited(15, 'cy@example.com');
    expectEntries(15, by, ['invitation.created', replaced.subject, replaced.detail]);
    const open = await invited(16, 'cy@example.com');
    expectEntries(
      16,
      by,
      ['invitation.revoked', replaced.subject, replaced.detail],
      ['invitation.created', open.subject, open.detail],
    );
    const joined = await acceptInvitation(fresh.database, {
      tokenHash: 'token 16',
      accepting: { kind: 'new', name: 'Cy', passwordHash: 'hash of Cy' },
      session: sessionOf('seven', 17),
      now: at(17),
    });
    assert.ok(typeof joined === 'object');
    const cy = `user:${joined.userId}`;
    expectEntries(
      17,
      cy,
      ['invitation.accepted', open.subject, open.detail],
      ['member.added', cy, open.detail],
      started(await idOfSession('seven'), 'invitation'),
    );
    const unwanted = await invited(18, 'dee@example.com');
    expectEntries(18, by, ['invitation.created', unwanted.subject, unwanted.detail]);
    await revokeInvitation(fresh.database, { workspaceId, userId: owner, id: unwanted.id, now: at(19) });
    expectEntries(19, by, ['invitation.revoked', unwanted.subject, unwanted.detail]);
    const theirs = await invited(20, 'eve@example.com', userId);
    expectEntries(20, them, ['invitation.created', theirs.subject, theirs.detail]);
    await resetPassword(fresh.database, { email: bo.email, hash: 'third hash', now: at(21) });
    expectEntries(21, 'system', ['person.password_reset', them, { sessions_ended: 1 }]);
    assert.equal(await removeMember(fresh.database, { ...change(22), userId, revokeKeys: true }), null);
    expectEntries(
      22,
      by,
      ['invitation.revoked', theirs.subject, theirs.detail],
      ['key.revoked', `key:${next.id}`, { prefix: 'bt_next', name }],
      ['member.removed', them, { role: 'admin', keys: 'revoked' }],
    );
    const removal = { ...change(23), userId: joined.userId, revokeKeys: false };
    assert.equal(await removeMember(fresh.database, removal), null);
    expectEntries(23, by, ['member.removed', cy, { role: 'viewer', keys: 'kept' }]);

    const rows = await listAudit(fresh.database, {
      workspaceId,
      createdAfter: at(1),
      createdBefore: at(24),
      limit: 100,
    });
    const found = rows
      .filter(({ action }) => action !== 'installation.created')
      .map((row): Entry => [row.at, row.actor, row.action, row.subject, row.detail]);
    assert.deepEqual(inOrder(found), inOrder(expected));
  });

  it('by a sign-in with the provider is recorded in the oldest workspace, with its rows', async () => {
    await newWorkspace();
    const person = {
      issuer: 'https://id.example.com',
      subject: 'fay',
      email: 'fay@acme.example',
      name: 'Fay',
    };
    const session = sessionOf('of Fay', 5);
    const joining = { domains: ['other.example', 'acme.example'], role: 'member' as const };
    const done = await signInByOpenId(fresh.database, { person, joining, session, now: at(6) });
    assert.ok(typeof done === 'object');
    const { userId } = done;
    assert.equal(done.workspaceId, first());
    const them = `user:${userId}`;
    const rows = await listAudit(fresh.database, { workspaceId: first(), actor: them, limit: 10 });
    assert.deepEqual(
      inOrder(rows.map((row): Entry => [row.at, row.actor, row.action, row.subject, row.detail])),
      inOrder([
        [at(6), them, 'member.added', them, { email: person.email, role: 'member', by: 'openid' }],
        [at(6), them, 'person.openid_linked', them, { issuer: person.issuer }],
        [at(5), them, 'session.started', `session:${await idOfSession('of Fay')}`, { by: 'openid' }],
      ]),
    );
    const user = plain(await entities().findOneOrFail(User, { id: userId }));
    const times = { created_at: at(6).toISOString() };
    const passwords = { password_hash: null, initial_password_hash: null };
    assert.deepEqual(user, { id: userId, email: person.email, name: 'Fay', ...passwords, ...times });
    const member = plain(await entities().findOneOrFail(Member, { user_id: userId }));
    assert.deepEqual(member, { workspace_id: first(), user_id: userId, role: 'member', ...times });
    const identity = plain(await entities().findOneOrFail(Identity, { user_id: userId }));
    assert.deepEqual(identity, { issuer: person.issuer, subject: 'fay', user_id: userId, ...times });
    const stranger = { ...person, subject: 'gus', email: 'gus@notacme.example' };
    const refused = { person: stranger, joining, session: sessionOf('of Gus', 7), now: at(7) };
    assert.equal(await signInByOpenId(fresh.database, refused), 'not_invited');
    const again = {
      person: { ...person, email: null },
      joining: null,
      session: sessionOf('again', 8),
      now: at(8),
    };
    assert.deepEqual(await signInByOpenId(fresh.database, again), done);
    const elsewhere = { ...person, issuer: 'https://two.example.com' };
    const linked = { person: elsewhere, joining: null, session: sessionOf('elsewhere', 9), now: at(9) };
    assert.deepEqual(await signInByOpenId(fresh.database, linked), done, 'one account at each provider');
    const other = { ...linked, person: { ...elsewhere, subject: 'another' } };
    assert.equal(await signInByOpenId(fresh.database, other), 'linked_otherwise');
  });

  it('stores these keys, sessions, members and invitations', async () => {
    const { workspace_id: workspaceId, project_id: projectId, owner } = await newWorkspace();
    const change = (ms: number) => ({ workspaceId, actor: `user:${owner}`, now: at(ms) });
    const key = { projectId, name: 'CI', scopes: ['webhooks:read' as const], expiresAt: at(DAY_MS) };
    const secret = { prefix: 'bt_a', hash: 'hash a' };
    const old = await createKey(fresh.database, { ...change(1), ...key, actor: 'system', secret });
    assert.ok(old);
    const nextSecret = { prefix: 'bt_b', hash: 'hash b' };
    const rotation = { ...change(2), id: old.id, oldUntil: at(3), secret: nextSecret };
    const next = await rotateKey(fresh.database, rotation);
    assert.ok(typeof next === 'object' && next !== null);
    const keyRow = async (id: string) => plain(await entities().findOneOrFail(ApiKey, { id }));
    const common = {
      workspace_id: workspaceId,
      project_id: projectId,
      name: 'CI',
      scopes: ['webhooks:read'],
      last_used_at: null,
      revoked_at: null,
    };
    assert.deepEqual(await keyRow(old.id), {
      ...common,
      id: old.id,
      prefix: 'bt_a',
      key_hash: 'hash a',
      created_by: 'system',
      created_at: at(1).toISOString(),
      expires_at: at(3).toISOString(),
      replaced_by: next.id,
    });
    assert.deepEqual(await keyRow(next.id), {
      ...common,
      id: next.id,
      prefix: 'bt_b',
      key_hash: 'hash b',
      created_by: `user:${owner}`,
      created_at: at(2).toISOString(),
      expires_at: at(DAY_MS).toISOString(),
      replaced_by: null,
    });

    const plan = { email: 'hal@example.com', name: 'Hal', role: 'member', passwordHash: 'hash' } as const;
    const hal = await addMember(fresh.database, { ...change(4), ...plan });
    assert.ok(typeof hal === 'object');
    const shown = { email: plan.email, name: 'Hal', role: 'member', created_at: at(4) };
    assert.deepEqual(hal, { id: hal.id, ...shown });
    const user = plain(await entities().findOneOrFail(User, { id: hal.id }));
    const hashes = { password_hash: 'hash', initial_password_hash: 'hash' };
    const created = { created_at: at(4).toISOString() };
    assert.deepEqual(user, { id: hal.id, email: plan.email, name: 'Hal', ...hashes, ...created });
    const changed = await changeRole(fresh.database, { ...change(5), userId: hal.id }, 'viewer');
    assert.deepEqual(changed, { ...hal, role: 'viewer' });
    const members = await listMembers(fresh.database, { workspaceId, limit: 10 });
    const ofOwner = members.find(({ id }) => id === owner);
    assert.deepEqual(members, [changed, ofOwner]);
    await resetPassword(fresh.database, { email: plan.email, hash: 'reset', now: at(6) });
    const { password_hash: reset, initial_password_hash: initial } = await entities().findOneOrFail(User, {
      id: hal.id,
    });
    assert.deepEqual([reset, initial], ['reset', 'reset']);

    const session = { ...sessionOf('of Hal', 7), userId: hal.id, workspaceId, passwordHash: 'reset' };
    assert.equal(await startSession(fresh.database, { ...session, passwordHash: 'hash' }), false);
    assert.equal(await startSession(fresh.database, { ...session, passwordHash: null }), false);
    assert.ok(await startSession(fresh.database, session));
    const id = await idOfSession('of Hal');
    await recordSessionUse(fresh.database, id, at(8));
    assert.deepEqual(plain(await entities().findOneOrFail(Session, { id })), {
      id,
      user_id: hal.id,
      token_hash: 'of Hal',
      user_agent: 'agent of of Hal',
      address: 'address of of Hal',
      created_at: at(7).toISOString(),
      last_seen_at: at(8).toISOString(),
      expires_at: at(7 + DAY_MS).toISOString(),
    });
    assert.deepEqual(await findActiveSession(fresh.database, 'of Hal'), {
      id,
      user_id: hal.id,
      email: plan.email,
      name: 'Hal',
      workspace_id: workspaceId,
      role: 'viewer',
      expires_at: at(7 + DAY_MS),
    });

    const wanted = {
      email: 'ida@example.com',
      role: 'admin' as const,
      tokenHash: 'of Ida',
      expiresAt: at(DAY_MS),
    };
    const invitation = await createInvitation(fresh.database, {
      ...wanted,
      workspaceId,
      userId: owner,
      now: at(9),
    });
    assert.ok(typeof invitation === 'object');
    const inviter = { id: owner, name: ofOwner?.name };
    assert.deepEqual(invitation.inviter, inviter);
    const workspace = { id: workspaceId, name: `Workspace ${made}` };
    const preview = {
      email: wanted.email,
      role: 'admin',
      expiresAt: at(DAY_MS),
      workspace,
      inviter: ofOwner?.name,
    };
    const look = (ms: number) => findInvitation(fresh.database, 'of Ida', at(ms));
    assert.deepEqual(await look(DAY_MS - 1), { ...preview, status: 'open', person: null });
    assert.deepEqual(await look(DAY_MS), { ...preview, status: 'expired', person: null });
    await markInvitationMailed(fresh.database, invitation.id, at(10));
    const accepting = { kind: 'new', name: 'Ida', passwordHash: 'hash of Ida' } as const;
    const acceptance = { tokenHash: 'of Ida', accepting, session: null, now: at(11) };
    const ida = await acceptInvitation(fresh.database, acceptance);
    assert.ok(typeof ida === 'object');
    assert.equal(ida.workspaceId, workspaceId);
    const person = { userId: ida.userId, passwordHash: 'hash of Ida', isMember: true };
    assert.deepEqual(await look(12), { ...preview, status: 'accepted', person });
    const [row] = await listInvitations(fresh.database, {
      workspaceId,
      statuses: undefined,
      now: at(12),
      limit: 10,
    });
    assert.deepEqual(row?.inviter, inviter);
    assert.deepEqual(plain(row), {
      id: invitation.id,
      workspace_id: workspaceId,
      email: wanted.email,
      role: 'admin',
      token_hash: 'of Ida',
      invited_by: owner,
      created_at: at(9).toISOString(),
      expires_at: at(DAY_MS).toISOString(),
      emailed_at: at(10).toISOString(),
      accepted_at: at(11).toISOString(),
      accepted_by: ida.userId,
      revoked_at: null,
    });
    const ofIda = plain(await entities().findOneOrFail(Member, { user_id: ida.userId }));
    const joined = { created_at: at(11).toISOString() };
    assert.deepEqual(ofIda, { workspace_id: workspaceId, user_id: ida.userId, role: 'admin', ...joined });
    const account = plain(await entities().findOneOrFail(User, { id: ida.userId }));
    const own = { password_hash: 'hash of Ida', initial_password_hash: null };
    assert.deepEqual(account, { id: ida.userId, email: wanted.email, name: 'Ida', ...own, ...joined });
  });

  it('leaves the sessions and passwords of all other people', async () => {
    const [one, two] = [await newPerson([first(), 'viewer']), await newPerson([first(), 'viewer'])];
    for (const { id } of [one, two])
      for (const name of ['a', 'b']) {
        const session = { ...sessionOf(`${name} ${id}`, 0), userId: id, workspaceId: first() };
        assert.ok(await startSession(fresh.database, { ...session, passwordHash: 'hash' }));
      }
    const sessionsOf = async ({ id }: { id: string }) => await entities().count(Session, { user_id: id });
    const theirs = await idOfSession(`a ${two.id}`);
    const who = { userId: one.id, workspaceId: first(), now: at(1) };
    assert.equal(await endSession(fresh.database, { ...who, id: theirs }), false);
    const hashes = { newHash: 'new', tokenHash: 'x' };
    const change = { ...who, ...hashes, sessionId: theirs };
    assert.equal(
      await changePassword(fresh.database, { ...change, oldHash: 'hash' }),
      false,
      'their session',
    );
    const mine = { ...change, sessionId: await idOfSession(`a ${one.id}`) };
    assert.equal(
      await changePassword(fresh.database, { ...mine, oldHash: 'old' }),
      false,
      'another password',
    );
    assert.deepEqual([await sessionsOf(one), await sessionsOf(two)], [2, 2]);
    assert.ok(await changePassword(fresh.database, { ...mine, oldHash: 'hash' }));
    assert.deepEqual([await sessionsOf(one), await sessionsOf(two)], [1, 2]);
    assert.equal((await entities().findOneOrFail(User, { id: two.id })).password_hash, 'hash');
    const kept = { ...who, keptId: await idOfSession('x') };
    assert.equal(await endOtherSessions(fresh.database, kept), 0);
    assert.ok(await resetPassword(fresh.database, { email: one.email, hash: 'reset', now: at(2) }));
    assert.deepEqual([await sessionsOf(one), await sessionsOf(two)], [0, 2]);
    assert.equal((await entities().findOneOrFail(User, { id: two.id })).password_hash, 'hash');
    const nobody = await newPerson();
    assert.equal(await resetPassword(fresh.database, { email: nobody.email, hash: 'x', now: at(3) }), false);
    assert.equal((await entities().findOneOrFail(User, { id: nobody.id })).password_hash, 'hash');
  });

  it('finds a person of two workspaces in the one that the person joined first', async () => {
    const other = await newWorkspace();
    for (const [firstJoined, otherJoined] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const person = await newPerson(
        [first(), 'viewer', at(firstJoined)],
        [other.workspace_id, 'admin', at(otherJoined)],
      );
      const workspaceId = firstJoined === 1 ? first() : other.workspace_id;
      const found = await findForSignIn(fresh.database, person.email);
      assert.deepEqual(found, { userId: person.id, passwordHash: 'hash', workspaceId });
      const who = { ...person, issuer: 'https://id.example.com', subject: person.id };
      const session = sessionOf(person.id, 3);
      const signIn = { person: who, joining: null, session, now: at(3) };
      assert.deepEqual(await signInByOpenId(fresh.database, signIn), { userId: person.id, workspaceId });
      const active = await findActiveSession(fresh.database, person.id);
      assert.deepEqual(
        [active?.workspace_id, active?.role],
        [workspaceId, firstJoined === 1 ? 'viewer' : 'admin'],
      );
    }
    const removed = await newPerson();
    assert.equal(await findForSignIn(fresh.database, removed.email), null);
  });

  it('by an invitation is refused to others than the invited person, and after changes', async () => {
    const { workspace_id: workspaceId, owner } = await newWorkspace();
    const invite = async (email: string) => {
      const plan = { email, role: 'viewer' as const, tokenHash: `for ${email}`, expiresAt: at(DAY_MS) };
      const row = await createInvitation(fresh.database, { ...plan, workspaceId, userId: owner, now: at(0) });
      return row;
    };
    const accept = (email: string, accepting: Accepting, ms = 1) =>
      acceptInvitation(fresh.database, { tokenHash: `for ${email}`, accepting, session: null, now: at(ms) });
    const [kim, lea] = [await newPerson([first(), 'viewer']), await newPerson([first(), 'viewer'])];
    const signedIn = ({ id: userId }: { id: string }) => ({ kind: 'signed_in', userId }) as const;
    const withPassword = { kind: 'password', userId: kim.id } as const;
    assert.equal(await accept(kim.email, signedIn(kim)), 'missing');
    await invite(kim.email);
    assert.equal(await accept(kim.email, signedIn(lea)), 'not_yours');
    assert.equal(await accept(kim.email, { ...withPassword, passwordHash: 'old' }), 'changed');
    assert.equal(
      await accept(kim.email, { ...withPassword, userId: lea.id, passwordHash: 'hash' }),
      'changed',
    );
    assert.equal(await accept(kim.email, { kind: 'new', name: 'Not Kim', passwordHash: 'x' }), 'changed');
    assert.equal(await accept(kim.email, signedIn(kim), DAY_MS), 'expired');
    assert.deepEqual(
      await entities().find(Member, { workspace_id: workspaceId, user_id: [kim.id, lea.id] }),
      [],
    );
    const done = { userId: kim.id, workspaceId };
    assert.deepEqual(await accept(kim.email, { ...withPassword, passwordHash: 'hash' }), done);
    assert.equal(await accept(kim.email, signedIn(kim)), 'accepted');
    const { name, password_hash: hash } = await entities().findOneOrFail(User, { id: kim.id });
    assert.deepEqual([name, hash], [kim.name, 'hash']);

    await invite(lea.email);
    await entities().insert(Member, {
      workspace_id: workspaceId,
      user_id: lea.id,
      role: 'viewer',
      created_at: at(2),
    });
    assert.equal(await accept(lea.email, signedIn(lea)), 'member');
    assert.equal(await invite(lea.email), 'member');

    // The password of an admin counts as chosen once the person is a member somewhere else, or has another one.
    const passwords = { initial_password_hash: 'hash' };
    const max = await newPerson([first(), 'viewer']);
    const abandoned = await newPerson();
    for (const { id } of [max, abandoned]) await entities().nativeUpdate(User, { id }, passwords);
    await invite(max.email);
    assert.equal(await accept(max.email, signedIn(max)), 'initial_password');
    assert.equal(await accept(max.email, { kind: 'new', name: 'Not Max', passwordHash: 'x' }), 'changed');
    assert.equal((await findInvitation(fresh.database, `for ${max.email}`, at(1)))?.person?.userId, max.id);
    await invite(abandoned.email);
    assert.equal((await findInvitation(fresh.database, `for ${abandoned.email}`, at(1)))?.person, null);
    const renewed = { kind: 'new', name: 'Renewed', passwordHash: 'y' } as const;
    assert.deepEqual(await accept(abandoned.email, renewed), { userId: abandoned.id, workspaceId });
    const account = await entities().findOneOrFail(User, { id: abandoned.id });
    assert.deepEqual([account.name, account.password_hash], ['Renewed', 'y']);
  });

  it('of an invitation concerns only its workspace, its inviter, and what is still pending', async () => {
    const [here, there] = [await newWorkspace(), await newWorkspace()];
    const inviters = {
      ann: await newPerson([here.workspace_id, 'owner'], [there.workspace_id, 'owner']),
      bob: await newPerson([here.workspace_id, 'owner']),
    };
    const ids = new Map<string, string>();
    const invite = async (name: string, workspaceId: string, userId: string, role: Role) => {
      const plan = {
        email: `${name.replaceAll(' ', '-')}@${made}.example`,
        role,
        tokenHash: `${name} ${made}`,
      };
      const row = await createInvitation(fresh.database, {
        ...plan,
        workspaceId,
        userId,
        expiresAt: at(DAY_MS),
        now: at(0),
      });
      assert.ok(typeof row === 'object', JSON.stringify(row));
      ids.set(row.id, name);
      return row;
    };
    const { ann, bob } = inviters;
    for (const role of ['viewer', 'admin', 'owner'] as const)
      await invite(`${role} of Ann`, here.workspace_id, ann.id, role);
    await invite('owner of Bob', here.workspace_id, bob.id, 'owner');
    await invite('owner elsewhere', there.workspace_id, ann.id, 'owner');
    const accepted = await invite('accepted of Ann', here.workspace_id, ann.id, 'owner');
    await entities().nativeUpdate(Invitation, { id: accepted.id }, { accepted_at: at(1) });
    const revoked = await invite('revoked of Ann', here.workspace_id, ann.id, 'owner');
    await entities().nativeUpdate(Invitation, { id: revoked.id }, { revoked_at: at(2) });
    const revokedAt = async () => {
      const rows = await entities().find(Invitation, { id: [...ids.keys()], revoked_at: { $ne: null } });
      return rows
        .map(({ id, revoked_at: when }) => `${ids.get(id)} ${(when?.getTime() ?? 0) - begun}`)
        .toSorted();
    };
    const change = { workspaceId: here.workspace_id, userId: ann.id, actor: `user:${bob.id}` };
    await changeRole(fresh.database, { ...change, now: at(3) }, 'admin');
    assert.deepEqual(await revokedAt(), ['owner of Ann 3', 'revoked of Ann 2']);
    const which = { workspaceId: there.workspace_id, userId: there.owner, id: accepted.id, now: at(4) };
    assert.equal(await revokeInvitation(fresh.database, which), 'missing');
    const own = { ...which, workspaceId: here.workspace_id, userId: bob.id };
    assert.equal(await revokeInvitation(fresh.database, own), 'accepted');
    assert.equal(await revokeInvitation(fresh.database, { ...own, id: revoked.id }), null);
    await removeMember(fresh.database, { ...change, revokeKeys: false, now: at(5) });
    assert.deepEqual(await revokedAt(), [
      'admin of Ann 5',
      'owner of Ann 3',
      'revoked of Ann 2',
      'viewer of Ann 5',
    ]);
    // An addition by an admin revokes only what is open for the address in the workspace.
    const past = {
      created_at: at(0),
      expires_at: at(DAY_MS),
      role: 'viewer' as const,
      email: 'past@example.com',
    };
    for (const [name, workspace_id, times] of [
      ['accepted before', here.workspace_id, { accepted_at: at(6) }],
      ['revoked before', here.workspace_id, { revoked_at: at(6) }],
      ['open elsewhere', there.workspace_id, {}],
      ['open', here.workspace_id, {}],
    ] as const) {
      const id = crypto.randomUUID();
      ids.clear();
      await entities().insert(Invitation, { id, workspace_id, token_hash: id, ...past, ...times });
      ids.set(id, name);
    }
    await addMember(fresh.database, {
      workspaceId: here.workspace_id,
      email: past.email,
      name: 'Past',
      role: 'viewer',
      passwordHash: 'x',
      actor: 'system',
      now: at(7),
    });
    const rows = await entities().find(Invitation, { email: past.email });
    const times = rows.map(({ workspace_id: id, accepted_at: was, revoked_at: when }) =>
      [
        id === here.workspace_id ? 'here' : 'there',
        was ? 'accepted' : '',
        when && when.getTime() - begun,
      ].join(' '),
    );
    assert.deepEqual(times.toSorted(), ['here  6', 'here  7', 'here accepted ', 'there  ']);
  });

  it('keeps the roles in other workspaces, and the name of a person who was removed before', async () => {
    const [here, there] = [await newWorkspace(), await newWorkspace()];
    const kim = await newPerson([here.workspace_id, 'viewer'], [there.workspace_id, 'viewer']);
    const which = { workspaceId: here.workspace_id, userId: kim.id, actor: `user:${here.owner}` };
    const changed = await changeRole(fresh.database, { ...which, now: at(1) }, 'admin');
    assert.ok(typeof changed === 'object');
    const roles = (await entities().find(Member, { user_id: kim.id })).map(
      ({ workspace_id: id, role }) => `${id === here.workspace_id ? 'here' : 'there'} ${role}`,
    );
    assert.deepEqual(roles.toSorted(), ['here admin', 'there viewer']);

    await entities().nativeDelete(Member, { user_id: kim.id });
    const { userId: _userId, ...plan } = which;
    const given = { email: kim.email, name: 'Another name', role: 'viewer', passwordHash: 'hash' } as const;
    const added = await addMember(fresh.database, { ...plan, ...given, now: at(2) });
    assert.ok(typeof added === 'object');
    assert.equal(added.name, kim.name);
  });
});
