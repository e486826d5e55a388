import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { unauthenticated } from '../../src/api/http/authentication.ts';
import type { Caller, PersonCaller } from '../../src/api/http/caller.ts';
import { requireCredential, watchCredential } from '../../src/api/http/credential-watch.ts';
import { keyCaller, personCaller, tokenCaller } from '../../src/api/http/known-callers.ts';
import { requireOwnOrigin } from '../../src/api/http/own-origin.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Notifications } from '../../src/database/common/notifications.ts';
import { ApiKey, Member, Session, User } from '../../src/database/people/entities.ts';
import { findActiveKey } from '../../src/database/people/keys.ts';
import { findActiveSession } from '../../src/database/people/sessions.ts';
import { SCOPES } from '../../src/domain/people/access.ts';
import { useInstallation } from '../support/installation.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');
const common = { workspaceId: 'w', scopes: [], actor: 'a', label: 'l', name: 'n' };
const expiresAt = new Date(START + 60_000);

/** The events tests show that streams end with their credential, if need be by the check every 15 s. */
describe('the watch of a credential', () => {
  const fresh = useInstallation();

  function watch(caller: Caller) {
    const state = { now: START, changes: 0, subscribed: new Map<string, () => void>() };
    const notifications = {
      subscribe(channel: string, id: string, listener: (id: string, rest: string | null) => void) {
        assert.equal(channel, 'credentials');
        state.subscribed.set(id, () => listener(id, ''));
        return () => void state.subscribed.delete(id);
      },
    } as unknown as Notifications;
    const deps = { database: fresh.database, notifications, clock: () => new Date(state.now) };
    return { state, watch: watchCredential(deps, caller, () => (state.changes += 1)) };
  }
  /** A key that does not exist any more. */
  const endedKey = (): Caller => ({
    ...common,
    kind: 'key',
    projectId: 'p',
    prefix: 'bt_abcdefgh',
    keyId: randomUUIDv7(),
  });

  it('reads it as soon as it is notified of a change', async () => {
    const caller = endedKey();
    const { state, watch: watched } = watch(caller);
    assert.equal(await watched.isValid(), true, 'it was valid a moment ago');
    for (const notify of state.subscribed.values()) notify();
    assert.equal(state.changes, 1);
    assert.equal(await watched.isValid(), false);
    watched.close();
    assert.equal(state.subscribed.size, 0);
  });

  it('reads it after ten seconds without a notification', async () => {
    const { state, watch: watched } = watch(endedKey());
    state.now += 9_999;
    assert.equal(await watched.isValid(), true);
    state.now += 1;
    assert.equal(await watched.isValid(), false);
  });

  it('notices that a token has expired, although its subject exists', async () => {
    const { project_id: projectId } = fresh.installation;
    const outside = { origin: 'outside', subject: 'x', projectId, scopes: [], expiresAt } as const;
    const caller: Caller = { ...common, kind: 'token', projectId, claims: { ...outside, scopes: [] } };
    const { state, watch: watched } = watch(caller);
    state.now = expiresAt.getTime() - 1;
    assert.equal(await watched.isValid(), true);
    state.now = expiresAt.getTime() + 10_000;
    assert.equal(await watched.isValid(), false);
  });

  const claims = { projectId: 'p', scopes: [], expiresAt, origin: 'own', workspaceId: 'w' } as const;
  const CALLERS: [what: string, caller: Caller, ids: string[]][] = [
    ['a key', { ...endedKey(), keyId: 'k' } as Caller, ['k']],
    [
      'a token of a key',
      {
        ...common,
        kind: 'token',
        projectId: 'p',
        claims: { ...claims, scopes: [], subject: 'key:k', sessionId: null },
      },
      ['k'],
    ],
    [
      'a token of a session',
      {
        ...common,
        kind: 'token',
        projectId: 'p',
        claims: { ...claims, scopes: [], subject: 'user:u', sessionId: 's' },
      },
      ['u', 's'],
    ],
    [
      'a session',
      {
        ...common,
        kind: 'person',
        projectId: null,
        userId: 'u',
        email: 'u@example.com',
        role: 'viewer',
        sessionId: 's',
        expiresAt,
      },
      ['u', 's'],
    ],
  ];
  for (const [what, caller, ids] of CALLERS) {
    it(`is notified of ${what}`, () => {
      assert.deepEqual([...watch(caller).state.subscribed.keys()], ids);
    });
  }
});

describe('a credential of a request that has waited', () => {
  const fresh = useInstallation();
  const entities = () => fresh.database.em.fork();
  const now = new Date();
  const later = new Date(now.getTime() + 60_000);
  const isValid = async (caller: Caller, at = now) =>
    await requireCredential({ database: fresh.database, clock: () => at }, caller).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof Problem);
        assert.equal(error.code, 'unauthenticated');
        return false;
      },
    );
  const caller = async (): Promise<PersonCaller> => {
    const { workspace_id: workspace, admin_email: email } = fresh.installation;
    const user = await entities().findOneOrFail(User, { email });
    const hash = randomUUIDv7();
    const times = { created_at: now, last_seen_at: now, expires_at: later };
    await entities().insert(Session, { id: randomUUIDv7(), user_id: user.id, token_hash: hash, ...times });
    const session = await findActiveSession(fresh.database, hash);
    assert.ok(session);
    const found = personCaller(session);
    assert.deepEqual(found, {
      kind: 'person',
      workspaceId: workspace,
      projectId: null,
      scopes: SCOPES,
      actor: `user:${user.id}`,
      label: `user:${email}`,
      userId: user.id,
      email,
      name: user.name,
      role: 'owner',
      sessionId: session.id,
      expiresAt: later,
    });
    return found;
  };
  const member = { role: 'owner', created_at: now } as const;

  it('is valid while its session and its membership last', async () => {
    const person = await caller();
    const { workspaceId: workspace_id, userId: user_id } = person;
    assert.ok(await isValid(person));
    await entities().nativeDelete(Member, { workspace_id, user_id });
    assert.ok(!(await isValid(person)));
    await entities().insert(Member, { workspace_id, user_id, ...member });
    assert.ok(await isValid(person));
    await entities().nativeDelete(Session, { id: person.sessionId });
    assert.ok(!(await isValid(person)));
  });

  it('is valid while its key lasts, and a token while it has not expired', async () => {
    const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
    const row = await entities().findOneOrFail(ApiKey, { workspace_id: workspaceId });
    const active = await findActiveKey(fresh.database, { id: row.id });
    assert.ok(active);
    const key = keyCaller(active);
    assert.deepEqual(key, {
      kind: 'key',
      workspaceId,
      projectId,
      scopes: row.scopes,
      actor: `key:${row.id}`,
      label: `key:${row.prefix}`,
      keyId: row.id,
      name: row.name,
      prefix: row.prefix,
    });
    const own = { origin: 'own', subject: `key:${row.id}`, workspaceId, sessionId: null } as const;
    const token = await tokenCaller(fresh.database, {
      ...own,
      projectId,
      scopes: ['tasks:read'],
      expiresAt: later,
    });
    assert.ok(token);
    assert.deepEqual([token.kind, token.scopes, token.label], ['token', ['tasks:read'], key.label]);
    assert.deepEqual([await isValid(key, later), await isValid(token)], [true, true]);
    assert.ok(await isValid(token, new Date(later.getTime() - 1)));
    assert.ok(!(await isValid(token, later)));
    await entities().nativeUpdate(ApiKey, { id: row.id }, { revoked_at: now });
    assert.deepEqual([await isValid(key), await isValid(token)], [false, false]);
    assert.equal(await tokenCaller(fresh.database, token.claims), null);
  });
});

describe('the challenge of a refused credential', () => {
  it('names both schemes, and why a token is invalid', () => {
    const challengeOf = (...given: Parameters<typeof unauthenticated>) =>
      unauthenticated(...given).headers?.['WWW-Authenticate'];
    const both = 'ApiKey realm="baton", header="X-API-Key"';
    assert.equal(challengeOf('No.'), `Bearer realm="baton", ${both}`);
    assert.equal(
      challengeOf('No.', 'invalid_token'),
      `Bearer realm="baton", error="invalid_token", error_description="No.", ${both}`,
    );
  });
});

describe('a request that starts a session', () => {
  it('may come from a page of the service, or without a page', () => {
    const base = 'https://baton.example.com';
    for (const headers of [
      {},
      { origin: base },
      { origin: 'https://x.example', 'sec-fetch-site': 'same-origin' },
    ])
      requireOwnOrigin(base, headers);
    for (const headers of [{ origin: 'https://x.example' }, { origin: 'null' }])
      assert.throws(() => requireOwnOrigin(base, headers), { code: 'forbidden' });
  });
});
