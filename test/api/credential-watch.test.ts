import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { Caller } from '../../src/api/http/caller.ts';
import { watchCredential } from '../../src/api/http/credential-watch.ts';
import type { Notifications } from '../../src/database/common/notifications.ts';
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
