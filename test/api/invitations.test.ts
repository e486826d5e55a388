import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/domain/people/access.ts';
import { Invitation, Member, User, Workspace } from '../../src/database/people/entities.ts';
import { hashOfSecret } from '../../src/security/keys.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { assertProblem } from './problems.ts';
import { PASSWORD, type Received, useOwnWorld } from '../support/world.ts';

const CHOSEN = 'a password of my own';

describe('invitations', () => {
  let mail: MailServer;
  const world = useOwnWorld(async () => {
    mail = await startMailServer();
    const environment = {
      SIGN_INS_PER_MINUTE: '1000',
      TRUSTED_PROXIES: '127.0.0.0/8, ::1/128',
      SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
      MAIL_FROM: 'Baton <baton@example.com>',
      BASE_URL: 'http://localhost:1',
    };
    return { worker: false, environment };
  });
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });
  after(() => mail?.close());

  const own = (cookie: string) => ({ key: null, cookie, headers: { Origin: 'http://localhost:1' } });
  const newAddress = () => `${randomUUID()}@example.com`;
  const invite = (email: string, role: Role = 'member', cookie = owner) =>
    world.send('POST', '/api/v1/invitations', { ...own(cookie), body: { email, role } });
  const tokenOf = ({ json }: Received) => new URL(json.url).hash.slice(1);
  const open = async (email: string, role?: Role) => tokenOf(await invite(email, role));
  const post = (what: string, body: object, headers: Record<string, string> = {}) =>
    world.send('POST', `/api/v1/invitations/${what}`, { key: null, body, headers });
  const accept = (token: string, members: object = { name: 'Ada', password: CHOSEN }) =>
    post('accept', { token, ...members });
  const cookieOf = ({ headers }: Received) => headers.get('set-cookie')?.split(';')[0] ?? '';
  const join = (cookie: string, token: string) =>
    world.send('POST', '/api/v1/invitations/join', { ...own(cookie), body: { token } });
  const revoke = (id: string, cookie = owner) =>
    world.send('DELETE', `/api/v1/invitations/${id}`, own(cookie));
  const INITIAL = 'a password of an admin';
  /** Adds a person with an initial password, and signs in with it. */
  const addedPerson = async (role: Role) => {
    const email = newAddress();
    await world.send('POST', '/api/v1/members', { ...own(owner), body: { email, role, password: INITIAL } });
    const cookie = await world.signIn(email, INITIAL);
    const { json } = await world.send('GET', '/api/v1/session', { cookie });
    return { email, cookie, id: json.user.id as string };
  };
  /** Changes the initial password of a person. Returns the new cookie. */
  const choosePassword = async (cookie: string): Promise<string> => {
    const body = { current_password: INITIAL, new_password: PASSWORD };
    return cookieOf(await world.send('PUT', '/api/v1/me/password', { ...own(cookie), body }));
  };
  /** Adds a person, who then chooses a password. */
  const person = async (role: Role) => {
    const added = await addedPerson(role);
    return { ...added, cookie: await choosePassword(added.cookie) };
  };
  const entities = () => world.database.em.fork();
  /** Creates a user with a password and without a workspace. */
  const userWithoutWorkspace = async () => {
    const { email, id } = await person('viewer');
    await world.send('DELETE', `/api/v1/members/${id}`, own(owner));
    return { email, id };
  };

  describe('are created', () => {
    it('with a link that is returned once and never stored', async () => {
      const email = newAddress().toUpperCase();
      const made = await invite(email, 'viewer');
      assert.equal(made.status, 201);
      assert.match(made.json.url, /^http:\/\/localhost:1\/invitation#[\w-]{43}$/);
      assert.deepEqual(
        [made.json.email, made.json.role, made.json.status],
        [email.toLowerCase(), 'viewer', 'open'],
      );
      const days = (Date.parse(made.json.expires_at) - Date.parse(made.json.created_at)) / 86_400_000;
      assert.equal(days, 7);
      assert.equal(made.json.invited_by.name, 'owner');
      const list = await world.send('GET', '/api/v1/invitations', { cookie: owner });
      assert.equal(list.json.data[0].id, made.json.id);
      const audit = await world.send('GET', '/api/v1/audit-log', { cookie: owner });
      assert.equal(audit.json.data[0].action, 'invitation.created');
      const row = await entities().findOneOrFail(Invitation, { id: made.json.id });
      const token = tokenOf(made);
      for (const text of [list.text, audit.text, JSON.stringify(row), world.logged()]) {
        assert.ok(!text.includes(token));
      }
    });

    it('and mailed to the invited person only', async () => {
      const email = newAddress();
      const before = mail.mails.length;
      const made = await invite(email, 'admin');
      assert.equal(made.json.mail, 'sent');
      assert.ok(made.json.emailed_at);
      const [sent] = (await mail.receives(before + 1)).slice(before);
      assert.deepEqual(sent?.to, [email]);
      assert.equal(sent?.header('Subject'), 'Invitation to Test');
      assert.ok(sent?.text.includes(made.json.url));
      assert.match(sent?.text ?? '', /owner invites you to the workspace "Test" on Baton, as admin/);
      const { json } = await world.send('GET', '/api/v1/invitations?limit=1', { cookie: owner });
      assert.ok(json.data[0].emailed_at);
    });

    it('even if the mail is rejected, which the response reports', async () => {
      const email = newAddress();
      mail.refusing([email]);
      const made = await invite(email);
      mail.takingAll();
      assert.deepEqual([made.status, made.json.mail, made.json.emailed_at], [201, 'failed', null]);
      assert.equal((await accept(tokenOf(made))).status, 201);
      assert.ok(!world.logged().includes(tokenOf(made)));
    });

    it('by admins, for roles up to their own', async () => {
      const admin = await person('admin');
      for (const role of ['viewer', 'member', 'admin'] as const) {
        assert.equal((await invite(newAddress(), role, admin.cookie)).status, 201);
      }
      assertProblem(await invite(newAddress(), 'owner', admin.cookie), 403, 'forbidden');
      assert.equal((await invite(newAddress(), 'owner')).status, 201);
      for (const role of ['viewer', 'member'] as const) {
        const { cookie } = await person(role);
        assertProblem(await invite(newAddress(), 'viewer', cookie), 403, 'forbidden');
        assertProblem(await world.send('GET', '/api/v1/invitations', { cookie }), 403, 'forbidden');
        assertProblem(await revoke(randomUUID(), cookie), 403, 'forbidden');
      }
      assertProblem(await world.send('GET', '/api/v1/invitations'), 403, 'forbidden');
    });

    it('once for each email address: a new invitation replaces the previous one', async () => {
      const email = newAddress();
      const first = await invite(email);
      const second = await invite(email, 'viewer');
      assertProblem(await accept(tokenOf(first)), 409, 'invalid_state');
      assert.equal((await accept(tokenOf(second))).json.role, 'viewer');
      assertProblem(await invite(email), 409, 'conflict');
    });

    it('only once with the same idempotency key', async () => {
      const body = { email: newAddress(), role: 'viewer' };
      const headers = { ...own(owner).headers, 'Idempotency-Key': 'once' };
      const send = () => world.send('POST', '/api/v1/invitations', { ...own(owner), headers, body });
      const [first, second] = [await send(), await send()];
      assert.equal(first.json.url, second.json.url);
      assert.equal((await accept(tokenOf(second))).status, 201);
    });

    it('only with a valid email address and role', async () => {
      const wrong: [object, string[]][] = [
        [{}, ['/email', '/role']],
        [{ email: 'nobody', role: 'king' }, ['/email', '/role']],
        [{ email: 'a@example.com\nBcc: b@example.com', role: 'viewer' }, ['/email']],
        [{ email: newAddress(), role: 'viewer', name: 'x' }, ['/name']],
      ];
      for (const [body, pointers] of wrong) {
        const refused = await world.send('POST', '/api/v1/invitations', { ...own(owner), body });
        assertProblem(refused, 422, 'validation_failed');
        assert.deepEqual(
          refused.json.errors.map((error: { pointer: string }) => error.pointer),
          pointers,
        );
      }
    });
  });

  describe('before their acceptance', () => {
    it('are listed by status, in pages', async () => {
      const made = await Promise.all([0, 1, 2, 3].map(() => invite(newAddress())));
      const [accepted, revoked, expired, left] = made.map(({ json }) => json.id as string);
      await accept(tokenOf(made[0] as Received));
      assert.equal((await revoke(revoked ?? '')).status, 204);
      await entities().nativeUpdate(Invitation, { id: expired ?? '' }, { expires_at: new Date(0) });
      const idsOf = async (query: string) => {
        const { json } = await world.send('GET', `/api/v1/invitations?limit=200&${query}`, { cookie: owner });
        return new Map<string, string>(
          json.data.map(({ id, status }: Record<string, string>) => [id, status]),
        );
      };
      const all = await idsOf('');
      const wanted = { accepted, revoked, expired, open: left };
      for (const [status, id = ''] of Object.entries(wanted)) {
        assert.equal(all.get(id), status);
        const some = await idsOf(`status=${status}`);
        assert.ok(some.has(id));
        assert.deepEqual([...new Set(some.values())], [status]);
      }
      assert.equal((await idsOf('status=open,expired')).size, (await idsOf('status=open')).size + 1);
      assertProblem(
        await world.send('GET', '/api/v1/invitations?status=lost', { cookie: owner }),
        400,
        'bad_request',
      );
      const first = await world.send('GET', '/api/v1/invitations?limit=2', { cookie: owner });
      const second = await world.send('GET', `/api/v1/invitations?limit=2&cursor=${first.json.next_cursor}`, {
        cookie: owner,
      });
      assert.deepEqual(
        [...first.json.data, ...second.json.data].map(({ id }: { id: string }) => id),
        [...all.keys()].slice(0, 4),
      );
    });

    it('can be revoked permanently, those for owners by owners only', async () => {
      const made = await invite(newAddress());
      assert.equal((await revoke(made.json.id)).status, 204);
      assert.equal((await revoke(made.json.id)).status, 204);
      assertProblem(await accept(tokenOf(made)), 409, 'invalid_state');
      assertProblem(await post('look-up', { token: tokenOf(made) }), 409, 'invalid_state');
      const used = await invite(newAddress());
      await accept(tokenOf(used));
      assertProblem(await revoke(used.json.id), 409, 'invalid_state');
      assertProblem(await revoke(randomUUID()), 404, 'not_found');
      assertProblem(await revoke('x'), 404, 'not_found');
      const admin = await person('admin');
      const email = newAddress();
      const forOwner = await invite(email, 'owner');
      assertProblem(await revoke(forOwner.json.id, admin.cookie), 403, 'forbidden');
      assertProblem(await invite(email, 'viewer', admin.cookie), 403, 'forbidden');
      assert.equal((await accept(tokenOf(forOwner))).json.role, 'owner');
    });

    it('become invalid if their creator loses the necessary role', async () => {
      const admin = await person('admin');
      const [toViewer, toAdmin] = [
        await invite(newAddress(), 'viewer', admin.cookie),
        await invite(newAddress(), 'admin', admin.cookie),
      ];
      await world.send('PATCH', `/api/v1/members/${admin.id}`, { ...own(owner), body: { role: 'member' } });
      for (const made of [toViewer, toAdmin])
        assertProblem(await accept(tokenOf(made)), 409, 'invalid_state');
      const other = await person('owner');
      const made = {
        admin: await invite(newAddress(), 'admin', other.cookie),
        owner: await invite(newAddress(), 'owner', other.cookie),
      };
      await world.send('PATCH', `/api/v1/members/${other.id}`, { ...own(owner), body: { role: 'admin' } });
      assertProblem(await accept(tokenOf(made.owner)), 409, 'invalid_state');
      await world.send('DELETE', `/api/v1/members/${other.id}`, own(owner));
      assertProblem(await accept(tokenOf(made.admin)), 409, 'invalid_state');
    });

    it('become invalid if the person is added as a member', async () => {
      const email = newAddress();
      const token = await open(email);
      await world.send('POST', '/api/v1/members', { ...own(owner), body: { email, role: 'viewer' } });
      assertProblem(await accept(token), 409, 'invalid_state');
    });

    it('stay valid if another workspace adds the person', async () => {
      const email = newAddress();
      const token = await inviteTo(await anotherWorkspace(), email);
      const body = { email, role: 'viewer', password: INITIAL };
      await world.send('POST', '/api/v1/members', { ...own(owner), body });
      const cookie = await choosePassword(await world.signIn(email, INITIAL));
      assert.equal((await join(cookie, token)).status, 200);
    });
  });

  describe('are accepted', () => {
    it('by a new user, who chooses a name and a password and is signed in', async () => {
      const email = newAddress();
      const token = await open(email, 'admin');
      const shown = await post('look-up', { token });
      assert.equal(shown.status, 200);
      const { expires_at: expires, ...rest } = shown.json;
      assert.ok(expires);
      assert.deepEqual(rest, {
        email,
        role: 'admin',
        workspace: { id: world.installation.workspace_id, name: 'Test' },
        invited_by: 'owner',
        account: 'new',
      });
      const accepted = await accept(token, { name: 'Ada L.', password: CHOSEN });
      assert.equal(accepted.status, 201);
      assert.deepEqual([accepted.json.user.name, accepted.json.role], ['Ada L.', 'admin']);
      assert.match(accepted.headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Lax/);
      const me = await world.send('GET', '/api/v1/me', { cookie: cookieOf(accepted) });
      assert.deepEqual([me.json.user.email, me.json.role], [email, 'admin']);
      assert.ok(await world.signIn(email, CHOSEN));
      const { json } = await world.send('GET', '/api/v1/audit-log?limit=10', { cookie: owner });
      const actions = json.data.map(({ action }: { action: string }) => action);
      for (const action of ['invitation.accepted', 'member.added', 'session.started']) {
        assert.ok(actions.includes(action), action);
      }
    });

    it('only once', async () => {
      const token = await open(newAddress());
      const outcomes = await Promise.all([accept(token), accept(token), accept(token)]);
      const statuses = outcomes.map(({ status }) => status).toSorted();
      assert.deepEqual([statuses[0], statuses.filter((status) => status === 201).length], [201, 1]);
      assertProblem(await accept(token), 409, 'invalid_state');
      assertProblem(await post('look-up', { token }), 409, 'invalid_state');
    });

    it('or replaced, but not both, if both are attempted simultaneously', async () => {
      for (let round = 0; round < 8; round += 1) {
        const email = newAddress();
        const token = await open(email);
        const [accepted, again] = await Promise.all([accept(token), invite(email)]);
        const statuses = `${accepted.status} ${again.status}`;
        assert.ok(['201 409', '409 201'].includes(statuses), statuses);
      }
    });

    it('until they expire', async () => {
      const made = await invite(newAddress());
      await entities().nativeUpdate(Invitation, { id: made.json.id }, { expires_at: new Date() });
      for (const refused of [
        await post('look-up', { token: tokenOf(made) }),
        await accept(tokenOf(made)),
        await join(owner, tokenOf(made)),
      ]) {
        assertProblem(refused, 409, 'invalid_state');
        assert.match(refused.json.detail, /expired/);
      }
    });

    it('under the rules for passwords and names', async () => {
      const token = await open(newAddress());
      const wrong: [object, string[]][] = [
        [{ password: CHOSEN }, ['/name']],
        [{ name: 'Ada', password: 'short' }, ['/password']],
        [{ name: ' ', password: CHOSEN }, ['/name']],
        [{ name: 'Ada', password: CHOSEN, role: 'owner' }, ['/role']],
      ];
      for (const [members, pointers] of wrong) {
        const refused = await accept(token, members);
        assertProblem(refused, 422, 'validation_failed');
        assert.deepEqual(
          refused.json.errors.map((error: { pointer: string }) => error.pointer),
          pointers,
        );
      }
      assert.equal((await accept(token)).status, 201);
    });

    it('only with a valid token and Origin', async () => {
      for (const token of ['', 'x', 'A'.repeat(43)]) {
        for (const refused of [
          await post('look-up', { token }),
          await accept(token),
          await join(owner, token),
        ]) {
          assertProblem(refused, 404, 'not_found');
        }
      }
      const token = await open(newAddress());
      const foreign = { Origin: 'https://evil.example.com' };
      const body = { token, name: 'Ada', password: CHOSEN };
      assertProblem(await post('accept', body, foreign), 403, 'forbidden');
      assert.equal((await post('accept', body, { Origin: 'http://localhost:1' })).status, 201);
    });

    it('by an existing user with the existing password, which is not changed', async () => {
      const { email } = await userWithoutWorkspace();
      await assert.rejects(world.signIn(email), /is wrong/);
      const token = await open(email, 'viewer');
      assert.equal((await post('look-up', { token })).json.account, 'password');
      assertProblem(await accept(token), 401, 'unauthenticated');
      await assert.rejects(world.signIn(email, CHOSEN), /is wrong/);
      const accepted = await accept(token, { name: 'Not taken', password: PASSWORD });
      assert.equal(accepted.status, 201);
      assert.notEqual(accepted.json.user.name, 'Not taken');
      assert.ok(await world.signIn(email));
    });

    it('with a limited number of wrong passwords', async () => {
      const { email } = await userWithoutWorkspace();
      const token = await open(email);
      for (let count = 0; count < 10; count += 1) assertProblem(await accept(token), 401, 'unauthenticated');
      assertProblem(await accept(token, { password: PASSWORD }), 429, 'rate_limited');
    });

    it('with a limited number of wrong passwords from all addresses of an IPv6 network', async () => {
      const { email } = await userWithoutWorkspace();
      const token = await open(email);
      const acceptAt = (n: number, password: string) =>
        post('accept', { token, password }, { 'X-Forwarded-For': `2001:db8::${n}` });
      for (let n = 0; n < 10; n += 1) assertProblem(await acceptAt(n, CHOSEN), 401, 'unauthenticated');
      assertProblem(await acceptAt(10, PASSWORD), 429, 'rate_limited');
    });

    it('by a user without a password only through the OpenID provider', async () => {
      const email = newAddress();
      await entities().insert(User, { id: randomUUID(), email, name: 'Sso', created_at: new Date() });
      const token = await open(email);
      assert.equal((await post('look-up', { token })).json.account, 'openid');
      assertProblem(await accept(token), 409, 'invalid_state');
    });

    it('by a user with an initial password only after another one was chosen: an admin may know it', async () => {
      const user = await addedPerson('viewer');
      const other = await anotherWorkspace();
      const token = await inviteTo(other, user.email);
      assertProblem(await join(user.cookie, token), 409, 'invalid_state');
      const refused = await accept(token, { password: INITIAL });
      assertProblem(refused, 409, 'invalid_state');
      assert.match(refused.json.detail, /change your password/);
      assertProblem(await accept(token, { password: CHOSEN }), 401, 'unauthenticated');
      const cookie = await choosePassword(user.cookie);
      assert.equal((await join(cookie, token)).status, 200);
    });

    it('like a new user by one who was removed with an initial password', async () => {
      const { email, id } = await addedPerson('viewer');
      await world.send('DELETE', `/api/v1/members/${id}`, own(owner));
      const token = await open(email, 'viewer');
      assert.equal((await post('look-up', { token })).json.account, 'new');
      const accepted = await accept(token, { name: 'Grace', password: CHOSEN });
      assert.deepEqual([accepted.status, accepted.json.user.name], [201, 'Grace']);
      await assert.rejects(world.signIn(email, INITIAL), /is wrong/);
      assert.ok(await world.signIn(email, CHOSEN));
    });

    it('by a signed-in user with the same email address, for another workspace', async () => {
      const user = await person('viewer');
      const other = await anotherWorkspace();
      const token = await inviteTo(other, user.email);
      assertProblem(await join((await person('viewer')).cookie, token), 403, 'forbidden');
      assertProblem(
        await world.send('POST', '/api/v1/invitations/join', { key: null, body: { token } }),
        401,
        'unauthenticated',
      );
      assertProblem(
        await world.send('POST', '/api/v1/invitations/join', { cookie: user.cookie, body: { token } }),
        403,
        'forbidden',
      );
      const joined = await join(user.cookie, token);
      assert.deepEqual(
        [joined.status, joined.json],
        [200, { workspace: { id: other, name: 'Another' }, role: 'member' }],
      );
      const member = await entities().findOneOrFail(Member, { workspace_id: other, user_id: user.id });
      assert.equal(member.role, 'member');
      assertProblem(await join(user.cookie, token), 409, 'invalid_state');
    });
  });

  it('of another workspace cannot be listed or revoked', async () => {
    const other = await anotherWorkspace();
    const email = newAddress();
    await inviteTo(other, email);
    const { text } = await world.send('GET', '/api/v1/invitations?limit=200', { cookie: owner });
    assert.ok(!text.includes(email));
    const row = await entities().findOneOrFail(Invitation, { email });
    assertProblem(await revoke(row.id), 404, 'not_found');
  });

  async function anotherWorkspace(): Promise<string> {
    const id = randomUUID();
    await entities().insert(Workspace, { id, name: 'Another', created_at: new Date() });
    return id;
  }

  /** Stores an invitation of the other workspace, and returns its token. */
  async function inviteTo(workspaceId: string, email: string): Promise<string> {
    const { json } = await invite(newAddress());
    const token = await open(newAddress());
    const which = { token_hash: hashOfSecret(token) };
    await entities().nativeUpdate(Invitation, which, { workspace_id: workspaceId, email });
    await revoke(json.id);
    return token;
  }
});

describe('invitations without a mail server', () => {
  const world = useOwnWorld({ worker: false });
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  it('report that no mail was sent', async () => {
    const body = { email: 'ada@example.com', role: 'viewer' };
    const { json } = await world.send('POST', '/api/v1/invitations', { ...world.as(owner), body });
    assert.deepEqual([json.mail, json.emailed_at], ['off', null]);
  });

  it('have the same rate limit as signing in', async () => {
    let last: Received | null = null;
    const body = { token: 'x', name: 'Ada', password: CHOSEN };
    for (let count = 0; count < 100 && last?.status !== 429; count += 1) {
      last = await world.send('POST', '/api/v1/invitations/accept', { key: null, body });
    }
    assertProblem(last as Received, 429, 'rate_limited');
  });

  it('are limited to 200 open ones', async () => {
    const em = world.database.em.fork();
    const now = new Date();
    for (let count = 0; count < 200; count += 1) {
      await em.insert(Invitation, {
        id: randomUUID(),
        workspace_id: world.installation.workspace_id,
        email: `many-${count}@example.com`,
        role: 'viewer',
        token_hash: randomUUID(),
        created_at: now,
        expires_at: new Date(now.getTime() + 60_000),
      });
    }
    const inviteOneMore = () =>
      world.send('POST', '/api/v1/invitations', {
        ...world.as(owner),
        body: { email: 'one-more@example.com', role: 'viewer' },
      });
    assertProblem(await inviteOneMore(), 409, 'conflict');
    await em.nativeUpdate(Invitation, { email: { $like: 'many-1%' } }, { expires_at: now });
    assert.equal((await inviteOneMore()).status, 201, 'expired ones no longer count');
  });
});
