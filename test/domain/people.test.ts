import assert from 'node:assert/strict';
import {
  credentialIdsOf,
  hasRole,
  ROLES,
  SCOPES,
  scopesOfRole,
  WORKSPACE_SCOPES,
  type TokenClaims,
} from '../../src/domain/people/access.ts';
import {
  invitationPlan,
  newPerson,
  rolesToInvite,
  statusOfInvitation,
} from '../../src/domain/people/invitation.ts';
import { DEFAULT_SCOPES, keyPlan } from '../../src/domain/people/key-plan.ts';
import { NOTICES, subjectOf } from '../../src/domain/people/notice.ts';
import {
  email,
  givenPassword,
  newPassword,
  passwordChange,
  personName,
} from '../../src/domain/people/person-fields.ts';
import { projectPlan } from '../../src/domain/people/project-plan.ts';
import { projectKeyFrom } from '../../src/domain/common/text.ts';
import { foundIn } from './found-problems.ts';

const PROJECT = '019c13eb-b3a0-7000-8000-000000000001';

describe('a role', () => {
  it('includes the lower ones', () => {
    assert.deepEqual([...ROLES], ['viewer', 'member', 'admin', 'owner']);
    const table = ROLES.map((role) => ROLES.map((least) => (hasRole(role, least) ? '+' : '-')).join(''));
    assert.deepEqual(table, ['+---', '++--', '+++-', '++++']);
  });

  it('gives scopes: a viewer reads, a member works with tasks, an admin does everything', () => {
    const all = ['tasks:read', 'tasks:write', 'events:write', 'webhooks:read', 'webhooks:write'];
    assert.deepEqual([...SCOPES], all);
    assert.deepEqual(scopesOfRole('viewer'), ['tasks:read', 'webhooks:read']);
    assert.deepEqual(scopesOfRole('member'), ['tasks:read', 'tasks:write', 'webhooks:read']);
    assert.deepEqual(scopesOfRole('admin'), all);
    assert.deepEqual(scopesOfRole('owner'), all);
    assert.deepEqual(WORKSPACE_SCOPES, ['events:write', 'webhooks:read', 'webhooks:write']);
  });

  it('lets admins and owners invite people up to their own role', () => {
    assert.deepEqual(ROLES.map(rolesToInvite), [
      [],
      [],
      ['viewer', 'member', 'admin'],
      ['viewer', 'member', 'admin', 'owner'],
    ]);
  });
});

describe('a token', () => {
  const own = (subject: 'key:k' | 'user:u', sessionId: string | null): TokenClaims => ({
    origin: 'own',
    subject,
    sessionId,
    workspaceId: 'w',
    projectId: 'p',
    scopes: [],
    expiresAt: new Date(0),
  });

  it('ends with its key, or with its person and session', () => {
    assert.deepEqual(credentialIdsOf(own('key:k', null)), ['k']);
    assert.deepEqual(credentialIdsOf(own('user:u', 's')), ['u', 's']);
  });

  it('ends with none of them if another provider issued it', () => {
    const claims: TokenClaims = {
      origin: 'outside',
      subject: 'user:u',
      projectId: 'p',
      scopes: [],
      expiresAt: new Date(0),
    };
    assert.deepEqual(credentialIdsOf(claims), []);
  });
});

describe('an invitation', () => {
  const now = new Date('2026-01-31T12:00:00.000Z');
  const later = new Date(now.getTime() + 1);

  it('is open until it is accepted, revoked or expired', () => {
    assert.equal(statusOfInvitation({ expires_at: later }, now), 'open');
    assert.equal(statusOfInvitation({ expires_at: now }, now), 'expired');
    assert.equal(statusOfInvitation({ expires_at: now, revoked_at: now, accepted_at: null }, now), 'revoked');
    assert.equal(statusOfInvitation({ expires_at: now, revoked_at: now, accepted_at: now }, now), 'accepted');
  });

  it('has an e-mail address and a role', () => {
    for (const role of ROLES)
      assert.deepEqual(foundIn(invitationPlan, { email: 'ada@example.com', role }), []);
    assert.deepEqual(foundIn(invitationPlan, { email: 'ada', role: 'king', x: 1 }), [
      '/email invalid_format',
      '/role not_allowed',
      '/x unknown_member',
    ]);
  });

  it('is accepted with a name and a password', () => {
    assert.deepEqual(foundIn(newPerson, { name: 'Ada', password: 'x'.repeat(12) }), []);
    assert.deepEqual(foundIn(newPerson, {}), ['/name required', '/password required']);
  });
});

describe('the fields of a person', () => {
  it('have limits', () => {
    const rows = [
      [personName, 1, 200],
      [newPassword, 12, 1_000],
    ] as const;
    for (const [schema, least, most] of rows) {
      assert.deepEqual(foundIn(schema, 'x'.repeat(least)), []);
      assert.deepEqual(foundIn(schema, 'x'.repeat(least - 1)), [' too_short']);
      assert.deepEqual(foundIn(schema, 'x'.repeat(most)), []);
      assert.deepEqual(foundIn(schema, 'x'.repeat(most + 1)), [' too_long']);
    }
  });

  it('have an e-mail address of at most 320 characters, in lower case', () => {
    assert.equal(email.parse('Ada@Example.COM'), 'ada@example.com');
    const long = `${'a'.repeat(307)}@example.com`;
    assert.deepEqual(foundIn(email, `a${long}`), []);
    assert.deepEqual(foundIn(email, `aa${long}`), [' too_long']);
  });

  it('have an existing password of any length up to the limit', () => {
    assert.deepEqual(foundIn(passwordChange, { current_password: '', new_password: 'x'.repeat(12) }), []);
    assert.deepEqual(foundIn(givenPassword, 'x'.repeat(1_000)), []);
    assert.deepEqual(foundIn(givenPassword, 'x'.repeat(1_001)), [' too_long']);
    assert.deepEqual(foundIn(givenPassword, '😀'.repeat(1_000)), [], 'as a new password counts them');
    assert.deepEqual(foundIn(passwordChange, { new_password: 'short', other: 1 }), [
      '/current_password required',
      '/new_password too_short',
      '/other unknown_member',
    ]);
  });
});

describe('an API key to create', () => {
  const plan = { name: 'CI', project_id: PROJECT };

  it('has a name and a project; scopes and an end are optional', () => {
    assert.deepEqual(foundIn(keyPlan, plan), []);
    assert.deepEqual(foundIn(keyPlan, { ...plan, expires_at: '2027-01-31T12:00:00Z' }), []);
    assert.deepEqual(foundIn(keyPlan, { name: '', project_id: 'x', scopes: [], expires_at: 'soon', y: 1 }), [
      '/name too_short',
      '/project_id invalid_format',
      '/scopes too_short',
      '/expires_at invalid_format',
      '/y unknown_member',
    ]);
    assert.deepEqual(foundIn(keyPlan, { ...plan, name: 'x'.repeat(200) }), []);
    assert.deepEqual(foundIn(keyPlan, { ...plan, name: 'x'.repeat(201) }), ['/name too_long']);
    assert.deepEqual(foundIn(keyPlan, { ...plan, scopes: ['tasks:delete'] }), ['/scopes/0 not_allowed']);
  });

  it('has each scope once, in a fixed order', () => {
    const scopes = ['webhooks:read', 'tasks:read', 'webhooks:read'];
    assert.deepEqual(keyPlan.parse({ ...plan, scopes }).scopes, ['tasks:read', 'webhooks:read']);
    assert.deepEqual(DEFAULT_SCOPES, ['tasks:read', 'tasks:write']);
  });
});

describe('a project to create', () => {
  it('has a name, and may have a key of 1 to 10 upper-case letters and digits', () => {
    for (const key of ['A', 'SHOP', 'A123456789'])
      assert.deepEqual(foundIn(projectPlan, { name: 'Shop', key }), []);
    for (const key of ['', '1A', 'shop', 'A1234567890', 'A-1', ' A', 'A\n'])
      assert.deepEqual(foundIn(projectPlan, { name: 'Shop', key }), ['/key invalid_format'], key);
    assert.deepEqual(foundIn(projectPlan, { name: '', x: 1 }), ['/name too_short', '/x unknown_member']);
    assert.deepEqual(foundIn(projectPlan, { name: 'x'.repeat(200) }), []);
    assert.deepEqual(foundIn(projectPlan, { name: 'x'.repeat(201) }), ['/name too_long']);
  });

  it('has a key derived from its name by default', () => {
    const rows = [
      ['Web shop', 'WEBSHOP'],
      ['2026 plan 3', 'PLAN3'],
      ['The quick brown fox', 'THEQUICKBR'],
      ['Größe', 'GRSSE'],
      ['a1', 'A1'],
      ['42', 'PROJECT'],
      ['–', 'PROJECT'],
    ] as const;
    for (const [name, key] of rows) assert.equal(projectKeyFrom(name), key, name);
  });
});

describe('a notice', () => {
  it('names the webhook or the task that it is about', () => {
    assert.equal(subjectOf({ kind: 'webhook.disabled', id: '1' }), 'webhook:1');
    assert.equal(subjectOf({ kind: 'task.escalated', id: '2' }), 'task:2');
  });

  it('goes to admins, or to members', () => {
    assert.deepEqual(
      [NOTICES['webhook.disabled'].least, NOTICES['task.escalated'].least],
      ['admin', 'member'],
    );
  });
});
