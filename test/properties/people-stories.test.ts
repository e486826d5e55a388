import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { hasRole, ROLES, type Role, type Scope } from '../../src/domain/people/access.ts';
import { eventually } from '../support/eventually.ts';
import { PASSWORD, useWorld, type Sent } from '../support/world.ts';
import { actionsOf, holdsAsync, type ActionOf, type PlansOf } from './property.ts';

/*
 * Random stories of members, their sessions and API keys, compared with a small model of docs/http-api.md. Time passes by
 * moving all stored times of the workspace into the past.
 */

const STORIES = 12;
/** How long the API may take to get to the state of the model, in milliseconds. */
const LONGEST_MS = 30_000;
/** Lifetime of a session without use, in hours. No story reaches it with short passages of time. */
const SESSION_IDLE_H = 72;
const IDLE_PASSAGE_H = 80;

type ModelPerson = {
  id: string;
  email: string;
  password: string;
  /** Null if the person is not a member. */
  role: Role | null;
};
type ModelSession = { cookie: string; person: ModelPerson; isOver: boolean; idleH: number };
type ModelKey = {
  id: string;
  key: string;
  scopes: readonly Scope[];
  creator: ModelPerson;
  isRevoked: boolean;
  isReplaced: boolean;
  /** Hours until it expires; null: never. */
  leftH: number | null;
};

/** A person, a session or a key; the index counts modulo their number. */
const which = fc.nat(5);
const role = fc.constantFrom(...ROLES);
const scopes = fc.uniqueArray(
  fc.constantFrom<Scope[]>('tasks:read', 'tasks:write', 'webhooks:read', 'webhooks:write'),
  { minLength: 1 },
);
const ACTIONS = {
  add: [4, fc.record({ by: which, address: fc.nat(3), role })],
  changeRole: [3, fc.record({ by: which, which, role })],
  remove: [2, fc.record({ by: which, which, revokesKeys: fc.boolean() })],
  signIn: [4, fc.record({ which, isRight: fc.boolean() })],
  signOut: [1, fc.record({ which })],
  changePassword: [1, fc.record({ which })],
  createKey: [3, fc.record({ by: which, scopes, expiresInH: fc.constantFrom(null, null, 2, 100) })],
  rotateKey: [2, fc.record({ by: which, which, overlapH: fc.constantFrom(0, 1, 24) })],
  revokeKey: [1, fc.record({ by: which, which })],
  pass: [2, fc.record({ hours: fc.constantFrom(1, 1, 2, IDLE_PASSAGE_H) })],
} as const;
type Plans = PlansOf<typeof ACTIONS>;
type Action = ActionOf<typeof ACTIONS>;
const action = actionsOf(ACTIONS);

describe('members, sessions and keys', function () {
  this.timeout(600_000);
  const world = useWorld();
  let stories = 0;

  it('do what the documents say, for random stories', async () => {
    await holdsAsync([fc.array(action, { minLength: 4, maxLength: 20 })], tell, STORIES);
  });

  async function tell(actions: Action[]): Promise<void> {
    const story = await createStory((stories += 1));
    // Each story begins with an admin who has a session and a key.
    const begin = [
      { kind: 'signIn', plan: { which: 0, isRight: true } },
      { kind: 'add', plan: { by: 0, address: 0, role: 'admin' } },
      { kind: 'signIn', plan: { which: 1, isRight: true } },
      { kind: 'createKey', plan: { by: 1, scopes: ['tasks:read'], expiresInH: null } },
    ] as const;
    for (const one of [...begin, ...actions]) {
      await story.apply(one as Action);
      const what = `the state after ${JSON.stringify(one)}`;
      const isReached = async () => (await story.differences()).length === 0;
      await eventually(what, isReached, LONGEST_MS).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${(await story.differences()).join('\n')}`);
      });
    }
    await story.end();
  }

  async function createStory(number: number) {
    const { project_id: projectId, admin_email: ownerEmail } = world.installation;
    const [first] = await rows<{ user_id: string }>('select user_id from members where workspace_id = ?');
    const founder: ModelPerson = {
      id: first?.user_id ?? '',
      email: ownerEmail,
      password: PASSWORD,
      role: 'owner',
    };
    const people: ModelPerson[] = [founder];
    const sessions: ModelSession[] = [];
    const keys: ModelKey[] = [];
    let passwords = 0;
    const newPassword = () => `a good long password ${number} ${(passwords += 1)}`;
    const at = <One>(all: readonly One[], index: number) => all[index % Math.max(all.length, 1)];
    const personAt = (index: number) => at(people, index);
    const isOpen = ({ isOver, idleH, person }: ModelSession) =>
      !isOver && idleH < SESSION_IDLE_H && person.role !== null;
    const works = ({ isRevoked, leftH }: ModelKey) => !isRevoked && (leftH === null || leftH > 0);
    const owners = () => people.filter((one) => one.role === 'owner');
    const as = ({ cookie }: ModelSession): Sent => world.as(cookie);

    async function rows<Row>(statement: string): Promise<Row[]> {
      return await world.database.em.fork().execute<Row[]>(statement, [world.installation.workspace_id]);
    }

    /** Returns the status of a refusal of an admin's request in this session; null if it may be made. */
    function refusalOf(session: ModelSession): number | null {
      if (!isOpen(session)) return 401;
      return hasRole(session.person.role ?? 'viewer', 'admin') ? null : 403;
    }
    /** Whether only an owner may do this. */
    const needsOwner = (actor: ModelPerson, ...roles: (Role | null)[]) =>
      roles.includes('owner') && actor.role !== 'owner';

    function endSessions(person: ModelPerson): void {
      for (const session of sessions) if (session.person === person) session.isOver = true;
    }

    async function signIn(person: ModelPerson, password: string): Promise<number> {
      const body = { email: person.email, password };
      const { status, headers } = await world.send('POST', '/api/v1/session', { key: null, body });
      const cookie = headers.get('set-cookie')?.split(';')[0];
      if (cookie) sessions.push({ cookie, person, isOver: false, idleH: 0 });
      return status;
    }

    const act: { [Name in keyof Plans]: (plan: Plans[Name]) => Promise<void> } = {
      async add({ by, address, role: wanted }) {
        const session = at(sessions, by);
        if (session === undefined) return;
        const email = `person-${address}-${number}-${ownerEmail}`;
        const password = newPassword();
        const known = people.find((one) => one.email === email);
        const body = { email, role: wanted, password };
        const { status, json } = await world.send('POST', '/api/v1/members', { ...as(session), body });
        const refused = refusalOf(session) ?? (needsOwner(session.person, wanted) ? 403 : null);
        assert.equal(status, refused ?? (known?.role ? 409 : 201));
        if (status !== 201) return;
        if (!known) people.push({ id: json.id, email, password, role: wanted });
        else Object.assign(known, { password, role: wanted });
      },
      async changeRole({ by, which: index, role: wanted }) {
        const [session, person] = [at(sessions, by), personAt(index)];
        if (session === undefined || person === undefined) return;
        // The founder stays an owner, so that there is always one whose password is known.
        if (person === founder && owners().length > 1) return;
        const path = `/api/v1/members/${person.id}`;
        const { status } = await world.send('PATCH', path, { ...as(session), body: { role: wanted } });
        const isLast = person.role === 'owner' && wanted !== 'owner' && owners().length === 1;
        const refused =
          refusalOf(session) ??
          (person.role === null ? 404 : needsOwner(session.person, person.role, wanted) ? 403 : null);
        assert.equal(status, refused ?? (isLast ? 409 : 200));
        if (status === 200) person.role = wanted;
      },
      async remove({ by, which: index, revokesKeys }) {
        const [session, person] = [at(sessions, by), personAt(index)];
        if (session === undefined || person === undefined) return;
        if (person === founder && owners().length > 1) return;
        const path = `/api/v1/members/${person.id}${revokesKeys ? '?revoke_keys=true' : ''}`;
        const { status } = await world.send('DELETE', path, as(session));
        const isLast = person.role === 'owner' && owners().length === 1;
        const refused =
          refusalOf(session) ??
          (person.role === null ? 404 : needsOwner(session.person, person.role) ? 403 : null);
        assert.equal(status, refused ?? (isLast ? 409 : 204));
        if (status !== 204) return;
        person.role = null;
        endSessions(person);
        for (const key of keys) if (revokesKeys && key.creator === person) key.isRevoked = true;
      },
      async signIn({ which: index, isRight }) {
        const person = personAt(index);
        if (person === undefined) return;
        const status = await signIn(person, isRight ? person.password : 'another long password');
        assert.equal(status, isRight && person.role !== null ? 201 : 401);
      },
      async signOut({ which: index }) {
        const session = at(sessions, index);
        if (session === undefined) return;
        const { status } = await world.send('DELETE', '/api/v1/session', as(session));
        assert.equal(status, isOpen(session) ? 204 : 401);
        session.isOver = true;
      },
      async changePassword({ which: index }) {
        const session = at(sessions, index);
        if (session === undefined) return;
        const { person } = session;
        // The next story signs the founder in with the first password.
        if (person === founder) return;
        const wanted = newPassword();
        const body = { current_password: person.password, new_password: wanted };
        const { status, headers } = await world.send('PUT', '/api/v1/me/password', { ...as(session), body });
        assert.equal(status, isOpen(session) ? 204 : 401);
        const cookie = headers.get('set-cookie')?.split(';')[0];
        if (status !== 204 || !cookie) return;
        person.password = wanted;
        endSessions(person);
        sessions.push({ cookie, person, isOver: false, idleH: session.idleH });
      },
      async createKey({ by, scopes: wanted, expiresInH }) {
        const session = at(sessions, by);
        if (session === undefined) return;
        const expiry =
          expiresInH === null
            ? {}
            : { expires_at: new Date(Date.now() + expiresInH * 3_600_000).toISOString() };
        const body = { name: `Key ${keys.length}`, project_id: projectId, scopes: wanted, ...expiry };
        const { status, json } = await world.send('POST', '/api/v1/keys', { ...as(session), body });
        assert.equal(status, refusalOf(session) ?? 201);
        if (status !== 201) return;
        const state = { isRevoked: false, isReplaced: false, leftH: expiresInH };
        keys.push({ id: json.id, key: json.key, scopes: wanted, creator: session.person, ...state });
      },
      async rotateKey({ by, which: index, overlapH }) {
        const [session, old] = [at(sessions, by), at(keys, index)];
        if (session === undefined || old === undefined) return;
        const path = `/api/v1/keys/${old.id}/rotate`;
        const body = { overlap_hours: overlapH };
        const { status, json } = await world.send('POST', path, { ...as(session), body });
        assert.equal(status, refusalOf(session) ?? (works(old) && !old.isReplaced ? 201 : 409));
        if (status !== 201) return;
        keys.push({ ...old, id: json.id, key: json.key, creator: session.person });
        old.isReplaced = true;
        old.leftH = Math.min(old.leftH ?? overlapH, overlapH);
      },
      async revokeKey({ by, which: index }) {
        const [session, key] = [at(sessions, by), at(keys, index)];
        if (session === undefined || key === undefined) return;
        const { status } = await world.send('DELETE', `/api/v1/keys/${key.id}`, as(session));
        assert.equal(status, refusalOf(session) ?? 204);
        if (status === 204) key.isRevoked = true;
      },
      async pass({ hours }) {
        const past = (column: string) => `${column} = ${column} - interval '${hours} hours'`;
        await rows(
          `update sessions set ${['created_at', 'last_seen_at', 'expires_at'].map(past).join(', ')}
           where user_id in (select user_id from members where workspace_id = ?)`,
        );
        await rows(
          `update api_keys set ${['created_at', 'expires_at'].map(past).join(', ')} where workspace_id = ?`,
        );
        for (const session of sessions) session.idleH += hours;
        for (const key of keys) if (key.leftH !== null) key.leftH -= hours;
        if (hours === IDLE_PASSAGE_H) assert.equal(await signIn(founder, founder.password), 201);
      },
    };

    /** Returns how the API differs from the model, a line each. */
    async function differences(): Promise<string[]> {
      const found: string[] = [];
      const requests: Promise<void>[] = [];
      const compare = (what: string, path: string, sent: Sent, wanted: number, method = 'GET'): void => {
        const compared = world.send(method, path, sent).then(({ status }) => {
          if (status !== wanted) found.push(`${what} gets ${status} for ${path}; expected: ${wanted}`);
        });
        requests.push(compared);
      };
      for (const [index, session] of sessions.entries()) {
        const { person } = session;
        const what = `session ${index} of ${person.email}, ${person.role}`;
        const least = (needed: Role, status: number) =>
          isOpen(session) ? (hasRole(person.role ?? 'viewer', needed) ? status : 403) : 401;
        compare(what, '/api/v1/me', as(session), least('viewer', 200));
        compare(what, '/api/v1/keys', as(session), least('admin', 200));
        compare(what, '/api/v1/tasks', { ...as(session), body: {} }, least('member', 422), 'POST');
      }
      for (const [index, key] of keys.entries()) {
        const allows = (scope: Scope, status: number) =>
          works(key) ? (key.scopes.includes(scope) ? status : 403) : 401;
        const [what, sent] = [`key ${index}`, { key: key.key }];
        compare(what, '/api/v1/tasks?limit=1', sent, allows('tasks:read', 200));
        compare(what, '/api/v1/tasks', { ...sent, body: {} }, allows('tasks:write', 422), 'POST');
        compare(what, '/api/v1/webhooks?limit=1', sent, allows('webhooks:read', 200));
        compare(what, '/api/v1/webhooks', { ...sent, body: {} }, allows('webhooks:write', 422), 'POST');
      }
      await Promise.all(requests);
      const members = await rows<{ user_id: string; role: string }>(
        'select user_id, role from members where workspace_id = ?',
      );
      const stored = new Map(members.map((one) => [one.user_id, one.role]));
      for (const { id, email, role: wanted } of people) {
        const is = stored.get(id) ?? null;
        if (is !== wanted) found.push(`${email} is ${is}; expected: ${wanted}`);
      }
      return found;
    }

    return {
      apply: (one: Action) => act[one.kind](one.plan as never),
      differences,
      /** Ends everything, so that the next story begins with the founder alone. */
      async end(): Promise<void> {
        const cookie = await world.signIn();
        for (const { id, role: is } of people.slice(1))
          if (is !== null) await world.send('DELETE', `/api/v1/members/${id}`, world.as(cookie));
        assert.equal((await rows('select from members where workspace_id = ?')).length, 1);
      },
    };
  }
});
