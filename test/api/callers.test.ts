import assert from 'node:assert/strict';
import type { Context } from 'koa';
import {
  admit,
  authorize,
  charge,
  returnCharge,
  spenderOf,
  withBody,
  type Gate,
} from '../../src/api/http/admit.ts';
import { unauthenticated } from '../../src/api/http/authentication.ts';
import type { Caller, PersonCaller } from '../../src/api/http/caller.ts';
import { keyCaller, personCaller, tokenCaller } from '../../src/api/http/known-callers.ts';
import type { Access } from '../../src/api/http/route.ts';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';
import { SCOPES, scopesOfRole, type TokenClaims } from '../../src/domain/people/access.ts';
import { useInstallation } from '../support/installation.ts';

const EXPIRES_AT = new Date('2026-01-31T12:00:00.000Z');
const KEY = keyCaller({
  id: 'key-id',
  workspace_id: 'workspace-id',
  project_id: 'project-id',
  name: 'The key',
  prefix: 'bt_abcdefgh',
  scopes: ['tasks:read'],
  expires_at: null,
});
const personWith = (role: PersonCaller['role']) =>
  personCaller({
    id: 'session-id',
    user_id: 'user-id',
    email: 'ada@example.com',
    name: 'Ada',
    workspace_id: 'workspace-id',
    role,
    expires_at: EXPIRES_AT,
  });

describe('a caller', () => {
  const fresh = useInstallation();

  it('has the values of its key', () => {
    assert.deepEqual(KEY, {
      kind: 'key',
      workspaceId: 'workspace-id',
      projectId: 'project-id',
      scopes: ['tasks:read'],
      actor: 'key:key-id',
      label: 'key:bt_abcdefgh',
      keyId: 'key-id',
      name: 'The key',
      prefix: 'bt_abcdefgh',
    });
    assert.equal(spenderOf(KEY), 'key:key-id');
  });

  it('has the values of its session, and the scopes of its role', () => {
    const person = personWith('member');
    assert.deepEqual(person, {
      kind: 'person',
      workspaceId: 'workspace-id',
      projectId: null,
      scopes: scopesOfRole('member'),
      actor: 'user:user-id',
      label: 'user:ada@example.com',
      userId: 'user-id',
      email: 'ada@example.com',
      name: 'Ada',
      role: 'member',
      sessionId: 'session-id',
      expiresAt: EXPIRES_AT,
    });
    assert.equal(spenderOf(person), 'session-id');
    assert.deepEqual(personWith('owner').scopes, SCOPES);
  });

  it('has the values of its token, while its subject exists', async () => {
    const { project_id: projectId, workspace_id: workspaceId } = fresh.installation;
    const [row] = await fresh.database.em
      .fork()
      .execute<{ id: string; prefix: string }[]>('select id, prefix from api_keys');
    assert.ok(row);
    const { id, prefix } = row;
    const claims: TokenClaims = {
      origin: 'own',
      subject: `key:${id}`,
      projectId,
      workspaceId,
      sessionId: null,
      scopes: ['tasks:read'],
      expiresAt: EXPIRES_AT,
    };
    const caller = await tokenCaller(fresh.database, claims);
    assert.ok(caller);
    const { kind, label, actor, claims: given } = caller;
    assert.deepEqual(
      [kind, caller.projectId, caller.workspaceId, caller.scopes, given],
      ['token', projectId, workspaceId, ['tasks:read'], claims],
    );
    assert.deepEqual([actor, label, spenderOf(caller)], [`key:${id}`, `key:${prefix}`, actor]);
    const nobody = { ...claims, subject: 'key:00000000-0000-7000-8000-000000000000' } as const;
    assert.equal(await tokenCaller(fresh.database, nobody), null);
  });
});

describe('the access rule of a route', () => {
  const allows = (access: Access, caller: Caller) => {
    try {
      authorize({ access }, caller);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('is a scope of the credential', () => {
    const scoped = (scope: 'tasks:read' | 'tasks:write' | null) => ({ kind: 'credential', scope }) as const;
    assert.equal(allows(scoped('tasks:read'), KEY), null);
    assert.equal(allows(scoped(null), { ...KEY, scopes: [] }), null);
    const lacking = 'have the required scope tasks:write.';
    assert.equal(allows(scoped('tasks:write'), KEY), `The credential does not ${lacking}`);
    assert.equal(allows(scoped('tasks:write'), personWith('viewer')), `The role viewer does not ${lacking}`);
    assert.equal(allows(scoped('tasks:write'), personWith('member')), null);
  });

  it('is one of several scopes of the credential', () => {
    const access = { kind: 'credential', scope: ['webhooks:read', 'events:write'] } as const;
    assert.equal(allows(access, { ...KEY, scopes: ['events:write'] }), null);
    assert.equal(allows(access, { ...KEY, scopes: ['webhooks:read'] }), null);
    assert.equal(
      allows(access, { ...KEY, scopes: ['tasks:read'] }),
      'The credential does not have the required scope webhooks:read or events:write.',
    );
  });

  it('is a role of a person, or a higher one', () => {
    const access = { kind: 'person', least: 'admin' } as const;
    assert.equal(allows(access, personWith('admin')), null);
    assert.equal(allows(access, personWith('owner')), null);
    assert.match(allows(access, personWith('member')) ?? '', /role admin or higher\. Yours is member\./);
    assert.match(allows(access, KEY) ?? '', /^Only signed-in users/);
  });
});

describe('the limit that a request counts towards', () => {
  const ADDRESS = '203.0.113.9';
  const OWN = spenderOf(KEY);

  /** Returns the limiters, and a request whose credential is `found`, or an error. */
  function requestOf(found: Caller | null | Error, ip = ADDRESS) {
    const limiter = (name: string) => createRateLimiter({ name, perSecond: 1, burst: 10 }, () => EXPIRES_AT);
    const limiters = {
      credential: limiter('credential'),
      events: limiter('events'),
      address: limiter('address'),
      signIn: limiter('sign_in'),
    };
    const gate = {
      limiters,
      authenticate: async () => {
        if (found instanceof Error) throw found;
        return found;
      },
    } as unknown as Gate;
    const context = { ip, state: {}, set: () => {}, req: { complete: true } } as unknown as Context;
    /** Returns how much of each limit was taken for these spenders, without what was not. */
    const taken = (...spenders: string[]) =>
      Object.fromEntries(
        Object.entries(limiters).flatMap(([name, { take }]) =>
          spenders.flatMap((who) => {
            const count = 10 - take(who, 0).remaining;
            return count === 0 ? [] : [[`${name} ${who}`, count]];
          }),
        ),
      );
    return { gate, context, taken };
  }
  const credential = { access: { kind: 'credential', scope: null } } as const;
  const open = { access: { kind: 'public' } } as const;

  it('is that of the credential, or that of events', async () => {
    const { gate, context, taken } = requestOf(KEY);
    assert.equal(await admit(gate, credential, context), KEY);
    assert.equal(context.state['caller'], KEY);
    assert.deepEqual(taken(OWN, ADDRESS), { [`credential ${OWN}`]: 1 });
    await admit(gate, { ...credential, limit: 'events' }, context);
    assert.deepEqual(taken(OWN, ADDRESS), { [`credential ${OWN}`]: 1, [`events ${OWN}`]: 1 });
  });

  it('is that of the address without a valid credential, and on public routes', async () => {
    for (const found of [null, unauthenticated('Unknown.')]) {
      const { gate, context, taken } = requestOf(found);
      await assert.rejects(admit(gate, credential, context), { code: 'unauthenticated' });
      assert.deepEqual(taken(OWN, ADDRESS), { [`address ${ADDRESS}`]: 1 });
    }
    const broken = requestOf(new Error('an outage'));
    await assert.rejects(admit(broken.gate, credential, broken.context), /an outage/);
    assert.deepEqual(broken.taken(ADDRESS), {}, 'a fault of the service does not count');
    const { gate, context, taken } = requestOf(KEY);
    assert.equal(await admit(gate, open, context), null);
    assert.deepEqual(taken(OWN, ADDRESS), { [`address ${ADDRESS}`]: 1 });
    await admit(gate, { ...open, limit: 'sign_in' }, context);
    await admit(gate, { ...open, limit: 'none' }, context);
    assert.deepEqual(taken(OWN, ADDRESS), { [`address ${ADDRESS}`]: 1, [`signIn ${ADDRESS}`]: 1 });
    const sixth = requestOf(KEY, '2001:db8:1:2::5');
    await admit(sixth.gate, open, sixth.context);
    assert.deepEqual(sixth.taken('20010db800010002/64'), { 'address 20010db800010002/64': 1 });
  });

  it('counts before the access rule is checked', async () => {
    const { gate, context, taken } = requestOf(KEY);
    const forbidden = { access: { kind: 'credential', scope: 'tasks:write' } } as const;
    await assert.rejects(admit(gate, forbidden, context), { code: 'forbidden' });
    assert.deepEqual(taken(OWN), { [`credential ${OWN}`]: 1 });
  });

  it('is charged the rest of the cost of the request', () => {
    const { gate, context, taken } = requestOf(KEY);
    const cost = (body: unknown) => Number(body);
    const charged = (route: Parameters<typeof charge>[1], body: number, paid?: number) =>
      charge(gate, route, context, { caller: KEY, body, ...(paid === undefined ? {} : { paid }) });
    charged({}, 5);
    charged({ cost }, 1);
    assert.deepEqual(taken(OWN), {});
    charged({ cost }, 4);
    charged({ cost, limit: 'events' }, 2, 0);
    assert.deepEqual(taken(OWN), { [`credential ${OWN}`]: 3, [`events ${OWN}`]: 2 });
    returnCharge(gate, KEY);
    assert.deepEqual(taken(OWN), { [`credential ${OWN}`]: 2, [`events ${OWN}`]: 2 });
    assert.throws(() => charged({ cost }, 10), { code: 'rate_limited' });
    charge(gate, { cost }, context, { caller: null, body: 100 });
  });

  it('is not charged again after a late body, and the caller is the current one', async () => {
    const viewer = personWith('viewer');
    const { gate, context, taken } = requestOf(viewer);
    const route = { access: { kind: 'credential', scope: 'tasks:read' } } as const;
    const read = () => Promise.resolve('the body');
    const earlier = personWith('owner');
    const whole = await withBody(gate, route, { context, caller: earlier }, read);
    assert.deepEqual([whole.caller, whole.body], [earlier, 'the body']);
    context.req.complete = false;
    const late = await withBody(gate, route, { context, caller: earlier }, async () => {
      context.req.complete = true;
      return await read();
    });
    assert.deepEqual([late.caller, late.body], [viewer, 'the body']);
    context.req.complete = false;
    const writing = { access: { kind: 'credential', scope: 'tasks:write' } } as const;
    await assert.rejects(withBody(gate, writing, { context, caller: earlier }, read), { code: 'forbidden' });
    assert.equal((await withBody(gate, open, { context, caller: null }, read)).caller, null);
    assert.deepEqual(taken('session-id', ADDRESS), {});
  });
});
