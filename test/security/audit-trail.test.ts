import assert from 'node:assert/strict';
import { AUDIT_ACTIONS, type AuditAction } from '../../src/domain/people/audit-actions.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { PASSWORD, type Sent, type World, useWorld } from '../support/world.ts';
import { type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';

/** The audit actions of every operation that is not a GET, or why it has none. */
const UNSAFE: Readonly<Record<string, readonly AuditAction[] | string>> = {
  submitTask: 'the task contains its creator',
  pauseTask: 'the events of the run contain the actor',
  continueTask: 'the events of the run contain the actor',
  cancelTask: 'the events of the run contain the actor',
  cancelTasks: 'the events of the run contain the actor',
  rerunTask: 'the new task contains its creator and its origin',
  rerunTasks: 'the new task contains its creator and its origin',
  retryTaskCallback: ['task.callback_retried'],
  eraseTask: ['task.erased'],
  createToken: ['token.created'],
  signIn: ['session.started'],
  signOut: ['session.ended'],
  endOtherSessions: ['session.others_ended'],
  endSession: ['session.ended'],
  changePassword: ['person.password_changed'],
  createKey: ['key.created'],
  rotateKey: ['key.rotated'],
  revokeKey: ['key.revoked'],
  createProject: ['project.created'],
  addMember: ['member.added'],
  changeMember: ['member.role_changed'],
  removeMember: ['member.removed'],
  createInvitation: ['invitation.created'],
  revokeInvitation: ['invitation.revoked'],
  lookUpInvitation: 'changes nothing',
  acceptInvitation: ['invitation.accepted', 'member.added', 'session.started'],
  joinByInvitation: ['invitation.accepted', 'member.added'],
  createWebhook: ['webhook.created'],
  changeWebhook: ['webhook.changed'],
  deleteWebhook: ['webhook.deleted'],
  rotateWebhookSecret: ['webhook.secret_rotated'],
  testWebhook: ['webhook.test_sent'],
  draftWebhookTest: ['webhook.test_previewed'],
  previewWebhook: 'changes nothing',
  previewSubscriptions: 'changes nothing',
  recoverWebhook: ['webhook.recovered'],
  createListener: ['webhook.created'],
  retryDelivery: ['delivery.retried'],
  cancelDeliveryRetry: ['delivery.retry_cancelled'],
  readAllNotifications: 'affects only the user',
  readNotification: 'affects only the user',
  sendEvents: 'the events themselves are stored',
};
/** Actions without a request, of the operator, or with an OpenID provider; other tests cover them. */
const ELSEWHERE: readonly AuditAction[] = [
  'installation.created',
  'person.openid_linked',
  'person.password_reset',
  'session.refused',
  'webhook.disabled',
  'webhook.enabled',
];

type Entry = {
  action: AuditAction;
  actor: string;
  actor_label: string;
  subject: string;
  subject_label: string;
};

describe('the audit log', () => {
  const world = useWorld();
  const receiver = useReceiver();
  let owner: Sent;
  before(async () => {
    owner = world.as(await world.signIn());
  });

  it('covers every operation that is not a GET', async () => {
    const { json } = await world.send('GET', '/api/v1/openapi.json');
    const operations = Object.values(json.paths as Record<string, Record<string, { operationId: string }>>);
    const unsafe = operations.flatMap((item) =>
      Object.entries(item).flatMap(([method, { operationId }]) => (method === 'get' ? [] : [operationId])),
    );
    assert.deepEqual(unsafe.toSorted(), Object.keys(UNSAFE).toSorted());
    const named = new Set(
      Object.values(UNSAFE).flatMap((expected) => (typeof expected === 'string' ? [] : expected)),
    );
    assert.deepEqual([...named, ...ELSEWHERE].toSorted(), AUDIT_ACTIONS.toSorted());
  });

  it('contains an entry with the actor for each change', async () => {
    const made: [operation: string, subject: RegExp][] = [];
    const perform = async (operation: string, subject: RegExp, method: string, path: string, sent: Sent) => {
      const before = await entries();
      const received = await world.send(method, `/api/v1${path}`, sent);
      assert.ok(received.status < 300, `${operation}: ${received.text}`);
      const known = new Set(before.map(({ id }) => id));
      const fresh = (await entries()).filter(({ id }) => !known.has(id));
      const expected = UNSAFE[operation];
      assert.deepEqual(
        fresh.map(({ action }) => action).toSorted(),
        typeof expected === 'string' ? [] : expected?.toSorted(),
      );
      for (const entry of fresh) {
        assert.match(entry.subject, subject, operation);
        assert.match(entry.actor, /^(user|key):[0-9a-f-]{36}$/, operation);
        assert.match(entry.actor_label, /^(user:[^@]+@example\.com|key:bt_\w+)$/, operation);
      }
      made.push([operation, subject]);
      return received.json;
    };
    await changes(world, owner, receiver, perform);
    const done = new Set(made.map(([operation]) => operation));
    const audited = Object.keys(UNSAFE).filter((operation) => typeof UNSAFE[operation] !== 'string');
    // Users without an account accept with a password, others join; both write the same entries.
    assert.deepEqual(
      audited.filter((operation) => !done.has(operation)),
      ['joinByInvitation'],
    );
  });

  it('contains an entry for a wrong password of a user, and none for an unknown email address', async () => {
    const { admin_email: email } = world.installation;
    const tries = async (address: string) => {
      const body = { email: address, password: 'not the right one' };
      const { status } = await world.send('POST', '/api/v1/session', { key: null, body });
      assert.equal(status, 401);
    };
    await tries('stranger@example.com');
    await tries(email);
    const found = await eventually('the entry', async () => {
      const { json } = await world.send('GET', '/api/v1/audit-log?action=session.refused', owner);
      return json.data.length > 0 && json.data;
    });
    assert.deepEqual(
      found.map((entry: Entry & { detail: object }) => [entry.subject_label, Object.keys(entry.detail)]),
      [[`user:${email}`, ['address']]],
    );
  });

  it('can be filtered by action, actor and time', async () => {
    const find = async (query: string) =>
      (await world.send('GET', `/api/v1/audit-log?limit=200&${query}`, owner)).json.data as Entry[];
    const keys = await find('action=key.created,key.revoked');
    assert.deepEqual([...new Set(keys.map(({ action }) => action))].toSorted(), [
      'key.created',
      'key.revoked',
    ]);
    const [{ actor } = { actor: '' }] = keys;
    const mine = await find(`actor=${encodeURIComponent(actor)}`);
    assert.ok(mine.length > 5 && mine.every((entry) => entry.actor === actor));
    assert.deepEqual(await find('actor=user:nobody'), []);
    assert.deepEqual(await find('created_after=2100-01-01T00:00:00Z'), []);
    assert.ok((await find('created_before=2100-01-01T00:00:00Z')).length > 3);
    assert.equal((await world.send('GET', '/api/v1/audit-log?action=key.stolen', owner)).status, 400);
  });

  async function entries(): Promise<(Entry & { id: string })[]> {
    return (await world.send('GET', '/api/v1/audit-log?limit=200', owner)).json.data;
  }
});

type Perform = (
  operation: string,
  subject: RegExp,
  method: string,
  path: string,
  sent: Sent,
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
) => Promise<any>;

/** Makes every audited change once. */
async function changes(world: World, owner: Sent, receiver: Receiver, perform: Perform): Promise<void> {
  const { project_id } = world.installation;
  const by = (body: object): Sent => ({ ...owner, body });
  await perform('createProject', /^project:/, 'POST', '/projects', by({ name: 'Two', key: 'TWO' }));
  const key = await perform('createKey', /^key:/, 'POST', '/keys', by({ name: 'CI', project_id }));
  const other = await perform('rotateKey', /^key:/, 'POST', `/keys/${key.id}/rotate`, by({}));
  await perform('revokeKey', /^key:/, 'DELETE', `/keys/${other.id}`, owner);
  await perform('createToken', /^project:/, 'POST', '/tokens', by({ project_id }));
  await changesOfPeople(world, by, owner, perform);
  await changesOfWebhooks(world, by, owner, receiver, perform);
  const { json } = await world.submit({ callback_url: 'https://127.0.0.1:1/' });
  await world.reaches(json.execution_id, 'completed');
  await failCallback(world.database, json.execution_id);
  await perform('retryTaskCallback', /^task:/, 'POST', `/tasks/${json.execution_id}/callback/retry`, {});
  await eventually('the retry has ended', async () => {
    const { json: run } = await world.send('GET', `/api/v1/tasks/${json.execution_id}`);
    return run.callback.status === 'failed';
  });
  await perform('eraseTask', /^task:/, 'DELETE', `/tasks/${json.execution_id}`, {});
}

async function changesOfPeople(
  world: World,
  by: (body: object) => Sent,
  owner: Sent,
  perform: Perform,
): Promise<void> {
  const ada = { email: 'ada@example.com', name: 'Ada', role: 'viewer', password: PASSWORD };
  const member = await perform('addMember', /^user:/, 'POST', '/members', by(ada));
  await perform('changeMember', /^user:/, 'PATCH', `/members/${member.id}`, by({ role: 'admin' }));
  const invite = (email: string) => by({ email, role: 'viewer' });
  const open = await perform(
    'createInvitation',
    /^invitation:/,
    'POST',
    '/invitations',
    invite('b@example.com'),
  );
  await perform('revokeInvitation', /^invitation:/, 'DELETE', `/invitations/${open.id}`, owner);
  const { json: kept } = await world.send('POST', '/api/v1/invitations', invite('grace@example.com'));
  const acceptance = { token: new URL(kept.url).hash.slice(1), name: 'Grace', password: PASSWORD };
  const accepted: Sent = { key: null, body: acceptance };
  const signed = await world.send('POST', '/api/v1/invitations/look-up', {
    key: null,
    body: { token: acceptance.token },
  });
  assert.equal(signed.status, 200, signed.text);
  await perform('acceptInvitation', /^(invitation|user|session):/, 'POST', '/invitations/accept', accepted);
  const first = { key: null, body: { email: ada.email, password: PASSWORD } };
  await perform('signIn', /^session:/, 'POST', '/session', first);
  const adas = () => world.signIn(ada.email);
  const mine = world.as(await adas());
  const sessions = await world.send('GET', '/api/v1/sessions', mine);
  const another = sessions.json.data.find((one: { current: boolean }) => !one.current);
  await perform('endSession', /^session:/, 'DELETE', `/sessions/${another.id}`, mine);
  await adas();
  await perform('endOtherSessions', /^user:|^session:/, 'DELETE', '/sessions', mine);
  const changed = { current_password: PASSWORD, new_password: 'another good long password' };
  await perform('changePassword', /^user:/, 'PUT', '/me/password', { ...mine, body: changed });
  const last = world.as(await world.signIn(ada.email, changed.new_password));
  await perform('signOut', /^session:/, 'DELETE', '/session', last);
  await perform('removeMember', /^user:/, 'DELETE', `/members/${member.id}`, owner);
}

async function changesOfWebhooks(
  world: World,
  by: (body: object) => Sent,
  owner: Sent,
  receiver: Receiver,
  perform: Perform,
): Promise<void> {
  const events = [{ event: 'issue.created' }];
  const plan = by({ name: 'One', url: receiver.url, events, secret: 'a-secret-of-mine' });
  const { id } = await perform('createWebhook', /^webhook:/, 'POST', '/webhooks', plan);
  const path = `/webhooks/${id}`;
  await perform('changeWebhook', /^webhook:/, 'PATCH', path, by({ name: 'Two' }));
  const sample = by({ event: 'issue.created' });
  await perform('draftWebhookTest', /^webhook:/, 'POST', `${path}/test-request`, sample);
  await perform('rotateWebhookSecret', /^webhook:/, 'POST', `${path}/rotate-secret`, by({}));
  const since = '2026-01-01T00:00:00Z';
  await perform(
    'recoverWebhook',
    /^webhook:/,
    'POST',
    `${path}/recover`,
    by({ since, statuses: ['failed'] }),
  );
  await world.send(
    'POST',
    '/api/v1/events',
    by({ event: 'issue.created', data: sampleData('issue.created') }),
  );
  const delivery = await eventually('the event has arrived', async () => {
    const found = await world.send('GET', `/api/v1${path}/deliveries?status=succeeded`, owner);
    return (found.json.data as { id: string }[])[0]?.id ?? null;
  });
  const retry = `/deliveries/${delivery}/retry`;
  const at = new Date(Date.now() + 3_600_000).toISOString();
  await perform('retryDelivery', /^delivery:/, 'POST', retry, by({ at }));
  await perform('cancelDeliveryRetry', /^delivery:/, 'DELETE', retry, owner);
  await perform('testWebhook', /^webhook:/, 'POST', `${path}/test`, sample);
  await perform(
    'createListener',
    /^webhook:/,
    'POST',
    '/listeners',
    by({ forward_to: 'http://127.0.0.1:9/' }),
  );
  await perform('deleteWebhook', /^webhook:/, 'DELETE', path, owner);
}
