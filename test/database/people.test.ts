import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { createKey, findActiveKey, listKeys, revokeKey, rotateKey } from '../../src/database/people/keys.ts';
import { listAudit, recordAudit } from '../../src/database/people/audit.ts';
import { removeMember } from '../../src/database/people/members.ts';
import { mailNextNotice } from '../../src/database/people/notices.ts';
import { signInByOpenId } from '../../src/database/people/openid.ts';
import { changePassword } from '../../src/database/people/passwords.ts';
import {
  findActiveSession,
  isSessionActive,
  listSessions,
  startSession,
} from '../../src/database/people/sessions.ts';
import { findTokenHolder } from '../../src/database/people/token-holders.ts';
import { SCOPES } from '../../src/domain/people/access.ts';
import { createWorkspace, type Installation } from '../../src/runtime/installation.ts';
import { useInstallation } from '../support/installation.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const now = new Date();
const at = (ms: number) => new Date(now.getTime() + ms);

describe('the people of an installation', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[] = []) => fresh.database.em.fork().execute(text, values);
  let made = 0;

  /** Stores a member of these workspaces. Returns the id and the address. */
  async function person(...workspaces: Installation[]): Promise<{ id: string; email: string }> {
    const id = randomUUIDv7();
    const email = `person-${(made += 1)}@example.com`;
    await execute(
      `insert into users (id, email, name, password_hash, created_at) values (?, ?, 'Bo', 'hash', now())`,
      [id, email],
    );
    for (const { workspace_id: workspaceId } of workspaces)
      await execute(`insert into members values (?, ?, 'admin', now())`, [workspaceId, id]);
    return { id, email };
  }

  async function otherWorkspace(): Promise<Installation> {
    const plan = { workspaceName: 'Other', projectName: 'Other' };
    const adminEmail = `owner-${(made += 1)}@example.com`;
    return await createWorkspace(fresh.database.em.fork(), { ...plan, adminEmail });
  }

  const newKey = async (
    { workspace_id: workspaceId, project_id: projectId }: Installation,
    actor: string,
    expiresAt: Date | null = null,
  ) => {
    const secret = { prefix: 'bt_test', hash: randomUUIDv7() };
    const plan = { secret, workspaceId, projectId, name: 'Test', scopes: [], actor, expiresAt, now };
    const key = await createKey(fresh.database, plan);
    assert.ok(key);
    return key;
  };

  describe('a member of two workspaces who is removed from one', () => {
    it('keeps sessions, the identity at the provider, and the keys in the other', async () => {
      const other = await otherWorkspace();
      const { id, email } = await person(fresh.installation, other);
      const keys = [await newKey(fresh.installation, `user:${id}`), await newKey(other, `user:${id}`)];
      const session = { userAgent: null, address: null, now, expiresAt: at(DAY_MS), tokenHash: email };
      const who = { issuer: 'https://id.example.com', subject: id, email, name: 'Bo' };
      await signInByOpenId(fresh.database, { person: who, joining: null, session, now });
      const removal = { userId: id, actor: 'system', revokeKeys: true, now };
      await removeMember(fresh.database, { ...removal, workspaceId: fresh.installation.workspace_id });
      assert.equal((await findActiveSession(fresh.database, email))?.workspace_id, other.workspace_id);
      assert.equal((await execute('select from identities where user_id = ?', [id])).length, 1);
      const active = await Promise.all(keys.map((key) => findActiveKey(fresh.database, { id: key.id })));
      assert.deepEqual(
        active.map((key) => key?.workspace_id),
        [undefined, other.workspace_id],
      );
      await removeMember(fresh.database, { ...removal, workspaceId: other.workspace_id });
      assert.equal(await findActiveSession(fresh.database, email), null);
      assert.equal((await execute('select from identities where user_id = ?', [id])).length, 0);
    });
  });

  describe('a key', () => {
    const rotate = (id: string, oldUntil: Date) =>
      rotateKey(fresh.database, {
        workspaceId: fresh.installation.workspace_id,
        id,
        actor: 'system',
        now,
        oldUntil,
        secret: { prefix: 'bt_next', hash: randomUUIDv7() },
      });

    it('has the expiration of the key that it replaces, which ends after the overlap', async () => {
      const expiresAt = at(DAY_MS);
      const { id } = await newKey(fresh.installation, 'system', expiresAt);
      const next = await rotate(id, at(MINUTE_MS));
      assert.ok(next !== null && next !== 'dead');
      const ends = await Promise.all(
        [id, next.id].map(async (one) => (await findActiveKey(fresh.database, { id: one }))?.expires_at),
      );
      assert.deepEqual(ends, [at(MINUTE_MS), expiresAt]);
      assert.equal(await rotate(id, at(MINUTE_MS)), 'dead', 'it is replaced already');
    });

    it('is not rotated once it is expired', async () => {
      const { id } = await newKey(fresh.installation, 'system', now);
      assert.equal(await rotate(id, at(MINUTE_MS)), 'dead');
    });

    it('names a creator who is a member of another workspace only as removed', async () => {
      const { id, email } = await person(fresh.installation, await otherWorkspace());
      await newKey(fresh.installation, `user:${id}`);
      const creatorOf = async () => {
        const page = { workspaceId: fresh.installation.workspace_id, creatorId: id, limit: 1 };
        return (await listKeys(fresh.database, page))[0]?.creator;
      };
      assert.deepEqual(await creatorOf(), { id, name: 'Bo', email, removed: false });
      await execute('delete from members where user_id = ? and workspace_id = ?', [
        id,
        fresh.installation.workspace_id,
      ]);
      assert.equal((await creatorOf())?.removed, true);
    });

    it('is revoked once, and keeps the time', async () => {
      const { id } = await newKey(fresh.installation, 'system');
      const which = { workspaceId: fresh.installation.workspace_id, id, actor: 'system' };
      await revokeKey(fresh.database, { ...which, now });
      const again = await revokeKey(fresh.database, { ...which, now: at(MINUTE_MS) });
      assert.deepEqual(again?.revoked_at, now);
      const entries = await execute(`select from audit_log where subject = ? and action = 'key.revoked'`, [
        `key:${id}`,
      ]);
      assert.equal(entries.length, 1);
    });
  });

  describe('a session', () => {
    const start = async (who: { id: string }, tokenHash: string, expiresAt = at(DAY_MS)) => {
      const session = { userAgent: null, address: null, now, expiresAt, tokenHash };
      const { workspace_id: workspaceId } = fresh.installation;
      const plan = { ...session, userId: who.id, workspaceId, passwordHash: 'hash' };
      assert.ok(await startSession(fresh.database, plan));
    };
    const idOf = async (tokenHash: string): Promise<string> =>
      (await execute('select id from sessions where token_hash = ?', [tokenHash]))[0]?.['id'];

    it('ends when it expires, however recently it was used', async () => {
      const who = await person(fresh.installation);
      await start(who, 'expired', at(-1));
      await start(await person(fresh.installation), 'active of another');
      const id = await idOf('expired');
      assert.equal(await findActiveSession(fresh.database, 'expired'), null);
      assert.equal(await isSessionActive(fresh.database, id), false);
      const page = { userId: who.id, now, limit: 10 };
      assert.deepEqual(await listSessions(fresh.database, page), []);
      assert.ok(await findActiveSession(fresh.database, 'active of another'));
    });

    it('is not listed once it was not used for three days', async () => {
      const who = await person(fresh.installation);
      await start(who, 'idle');
      await execute(`update sessions set last_seen_at = ? where token_hash = 'idle'`, [at(-3 * DAY_MS)]);
      assert.deepEqual(await listSessions(fresh.database, { userId: who.id, now, limit: 10 }), []);
      assert.equal(await isSessionActive(fresh.database, await idOf('idle')), false);
    });

    it('is not ended by a new one, which removes the expired ones of its person', async () => {
      const [who, other] = [await person(fresh.installation), await person(fresh.installation)];
      await start(who, 'first');
      await start(who, 'old', at(-1));
      await start(other, 'old of another', at(-1));
      await start(who, 'second');
      const left = await execute(
        'select token_hash from sessions where user_id = any(?) order by token_hash',
        [`{${who.id},${other.id}}`],
      );
      assert.deepEqual(
        left.map((row) => row['token_hash']),
        ['first', 'old of another', 'second'],
      );
    });

    it('gets another id with a new password, so that its tokens end', async () => {
      const who = await person(fresh.installation);
      await start(who, 'before');
      const sessionId = await idOf('before');
      const { workspace_id: workspaceId } = fresh.installation;
      const hashes = { oldHash: 'hash', newHash: 'new hash', tokenHash: 'after' };
      const change = { userId: who.id, workspaceId, sessionId, ...hashes, now };
      assert.ok(await changePassword(fresh.database, change));
      assert.equal(await isSessionActive(fresh.database, sessionId), false);
      assert.equal((await findActiveSession(fresh.database, 'after'))?.user_id, who.id);
    });
  });

  describe('an invitation', () => {
    const invite = (email: string, { workspace_id }: Installation, expiresAt: Date) =>
      execute(
        `insert into invitations (id, workspace_id, email, role, token_hash, created_at, expires_at)
         values (?, ?, ?, 'member', ?, now(), ?)`,
        // In the order of time, also within a millisecond.
        [
          `01890000-0000-7000-8000-${String((made += 1)).padStart(12, '0')}`,
          workspace_id,
          email,
          randomUUIDv7(),
          expiresAt,
        ],
      );
    const signIn = (email: string) =>
      signInByOpenId(fresh.database, {
        person: { issuer: 'https://id.example.com', subject: email, email, name: 'Bo' },
        joining: null,
        session: { userAgent: null, address: null, now, expiresAt: at(DAY_MS), tokenHash: email },
        now,
      });

    it('admits nobody from the provider after it has expired', async () => {
      await invite('late@example.com', fresh.installation, now);
      assert.equal(await signIn('late@example.com'), 'not_invited');
      assert.deepEqual(await execute(`select from users where email = 'late@example.com'`), []);
    });

    it('admits a person from the provider to the workspace of the newest one', async () => {
      const other = await otherWorkspace();
      await invite('guest@example.com', fresh.installation, at(DAY_MS));
      await invite('guest@example.com', other, at(DAY_MS));
      const done = await signIn('guest@example.com');
      assert.ok(typeof done === 'object');
      assert.equal(done.workspaceId, other.workspace_id);
      const accepted = await execute(
        `select workspace_id from invitations where email = 'guest@example.com' and accepted_at is not null`,
      );
      assert.deepEqual(
        accepted.map((row) => row['workspace_id']),
        [other.workspace_id],
      );
    });
  });

  describe('a token', () => {
    it('has no holder in another project than that of its key, and never more scopes than the key', async () => {
      const other = await otherWorkspace();
      const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
      const { id } = await newKey(fresh.installation, 'system');
      await execute(`update api_keys set scopes = '{tasks:read}' where id = ?`, [id]);
      const own = { origin: 'own', subject: `key:${id}`, workspaceId, sessionId: null } as const;
      const claims = { ...own, projectId, scopes: [...SCOPES], expiresAt: at(MINUTE_MS) };
      const holder = await findTokenHolder(fresh.database, claims);
      assert.deepEqual(holder?.scopes, ['tasks:read']);
      assert.equal(await findTokenHolder(fresh.database, { ...claims, projectId: other.project_id }), null);
    });
  });

  describe('the audit log', () => {
    it('contains the entries from a time until before another', async () => {
      const { workspace_id: workspaceId } = await otherWorkspace();
      for (const ms of [0, 1, 2]) {
        const entry = {
          workspaceId,
          actor: 'system',
          action: 'project.created',
          subject: `project:${ms}`,
        } as const;
        await recordAudit(fresh.database.em.fork(), { ...entry, at: at(ms) });
      }
      const page = { workspaceId, actions: ['project.created'] as const, limit: 10 };
      const found = await listAudit(fresh.database, { ...page, createdAfter: at(0), createdBefore: at(2) });
      assert.deepEqual(found.map(({ subject }) => subject).toSorted(), ['project:0', 'project:1']);
    });
  });

  describe('a notice', () => {
    it('is mailed to each person with the role in its workspace, once, and again after a failure', async () => {
      const other = await otherWorkspace();
      const { workspace_id: workspaceId } = fresh.installation;
      const [one, two, viewer] = [
        await person(fresh.installation),
        await person(fresh.installation),
        await person(fresh.installation, other),
      ];
      await execute(`update members set role = 'viewer' where user_id = ? and workspace_id = ?`, [
        viewer.id,
        workspaceId,
      ]);
      const occasion = { kind: 'webhook.disabled', id: randomUUIDv7(), at: now } as const;
      for (const { id } of [one, two, viewer])
        await execute(
          `insert into notifications (id, workspace_id, user_id, kind, subject, created_at) values (?, ?, ?, ?, ?, ?)`,
          [randomUUIDv7(), workspaceId, id, occasion.kind, `webhook:${occasion.id}`, now],
        );
      const mailed: { id: string; email: string }[] = [];
      const next = (except: string[] = [], fail = false) =>
        mailNextNotice(
          fresh.database,
          { ...occasion, except },
          async ({ id, email }) => {
            mailed.push({ id, email });
            if (fail) throw new Error('the mail server refuses it');
          },
          () => now,
        );
      await assert.rejects(next([], true), /refuses/);
      const [refused] = mailed.splice(0);
      assert.ok(refused);
      assert.ok(await next([refused.id]));
      assert.ok(!(await next([refused.id])));
      assert.ok(await next());
      assert.ok(!(await next()));
      assert.deepEqual(mailed.map(({ email }) => email).toSorted(), [one.email, two.email].toSorted());
      assert.equal(mailed.at(-1)?.id, refused.id);
    });
  });
});
