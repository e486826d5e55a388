import assert from 'node:assert/strict';
import { AUDIT_ACTIONS, type AuditAction } from '../../src/domain/people/audit-actions.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { failCallback } from '../support/ended-run.ts';
import { PASSWORD, type Sent, type World, useWorld } from '../support/world.ts';
import { type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';

/** Every operation that is no reading: under which names the audit log tells of it, or why it does not. */
const UNSAFE: Readonly<Record<string, readonly AuditAction[] | string>> = {
  submitTask: 'the task says who submitted it',
  pauseTask: 'the run’s events say who',
  continueTask: 'the run’s events say who',
  cancelTask: 'the run’s events say who',
  rerunTask: 'the new task says who, and of which one it is',
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
  readAllNotifications: 'concerns nobody else',
  readNotification: 'concerns nobody else',
  sendEvents: 'the events are kept themselves',
};
/** What is told of without a request, or by a provider that is not here; other tests see it. */
const ELSEWHERE: readonly AuditAction[] = [
  'installation.created',
  'person.openid_linked',
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

describe('the trail of who changed what', () => {
  const world = useWorld();
  const receiver = useReceiver();
  let owner: Sent;
  before(async () => {
    owner = world.as(await world.signIn());
  });

  it('knows every operation that is no reading', async () => {
    const { json } = await world.send('GET', '/api/v1/openapi.json');
    const operations = Object.values(json.paths as Record<string, Record<string, { operationId: string }>>);
    const unsafe = operations.flatMap((item) =>
      Object.entries(item).flatMap(([method, { operationId }]) => (method === 'get' ? [] : [operationId])),
    );
    assert.deepEqual(unsafe.toSorted(), Object.keys(UNSAFE).toSorted());
    const named = new Set(Object.values(UNSAFE).flatMap((told) => (typeof told === 'string' ? [] : told)));
    assert.deepEqual([...named, ...ELSEWHERE].toSorted(), AUDIT_ACTIONS.toSorted());
  });

  it('gets an entry for each change that was made, with who made it', async () => {
    const made: [operation: string, subject: RegExp][] = [];
    const does = async (operation: string, subject: RegExp, method: string, path: string, sent: Sent) => {
      const before = await entries();
      const received = await world.send(method, `/api/v1${path}`, sent);
      assert.ok(received.status < 300, `${operation}: ${received.text}`);
      const known = new Set(before.map(({ id }) => id));
      const fresh = (await entries()).filter(({ id }) => !known.has(id));
      const told = UNSAFE[operation];
      assert.deepEqual(
        fresh.map(({ action }) => action).toSorted(),
        typeof told === 'string' ? [] : told?.toSorted(),
      );
      for (const entry of fresh) {
        assert.match(entry.subject, subject, operation);
        assert.match(entry.actor, /^(user|key):[0-9a-f-]{36}$/, operation);
        assert.match(entry.actor_label, /^(user:[^@]+@example\.com|key:bt_\w+)$/, operation);
      }
      made.push([operation, subject]);
      return received.json;
    };
    await changes(world, owner, receiver, does);
    const done = new Set(made.map(([operation]) => operation));
    const audited = Object.keys(UNSAFE).filter((operation) => typeof UNSAFE[operation] !== 'string');
    // Who has no account accepts by a password, who has one joins; both write the same.
    assert.deepEqual(
      audited.filter((operation) => !done.has(operation)),
      ['joinByInvitation'],
    );
  });

  it('gets an entry for a wrong password of a person, and none for one of a stranger', async () => {
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

  it('is narrowed to what, who and when', async () => {
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

type Does = (
  operation: string,
  subject: RegExp,
  method: string,
  path: string,
  sent: Sent,
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
) => Promise<any>;

/** Makes every change that the log tells of, once. */
async function changes(world: World, owner: Sent, receiver: Receiver, does: Does): Promise<void> {
  const { project_id } = world.installation;
  const by = (body: object): Sent => ({ ...owner, body });
  await does('createProject', /^project:/, 'POST', '/projects', by({ name: 'Two', key: 'TWO' }));
  const key = await does('createKey', /^key:/, 'POST', '/keys', by({ name: 'CI', project_id }));
  const other = await does('rotateKey', /^key:/, 'POST', `/keys/${key.id}/rotate`, by({}));
  await does('revokeKey', /^key:/, 'DELETE', `/keys/${other.id}`, owner);
  await does('createToken', /^project:/, 'POST', '/tokens', by({ project_id }));
  await changesOfPeople(world, by, owner, does);
  await changesOfWebhooks(world, by, owner, receiver, does);
  const { json } = await world.submit({ callback_url: 'https://127.0.0.1:1/' });
  await world.reaches(json.execution_id, 'completed');
  await failCallback(world.database, json.execution_id);
  await does('retryTaskCallback', /^task:/, 'POST', `/tasks/${json.execution_id}/callback/retry`, {});
  await eventually('the retry has ended', async () => {
    const { json: run } = await world.send('GET', `/api/v1/tasks/${json.execution_id}`);
    return run.callback.status === 'failed';
  });
  await does('eraseTask', /^task:/, 'DELETE', `/tasks/${json.execution_id}`, {});
}

async function changesOfPeople(
  world: World,
  by: (body: object) => Sent,
  owner: Sent,
  does: Does,
): Promise<void> {
  const ada = { email: 'ada@example.com', name: 'Ada', role: 'viewer', password: PASSWORD };
  const member = await does('addMember', /^user:/, 'POST', '/members', by(ada));
  await does('changeMember', /^user:/, 'PATCH', `/members/${member.id}`, by({ role: 'admin' }));
  const invite = (email: string) => by({ email, role: 'viewer' });
  const open = await does(
    'createInvitation',
    /^invitation:/,
    'POST',
    '/invitations',
    invite('b@example.com'),
  );
  await does('revokeInvitation', /^invitation:/, 'DELETE', `/invitations/${open.id}`, owner);
  const { json: kept } = await world.send('POST', '/api/v1/invitations', invite('grace@example.com'));
  const acceptance = { token: new URL(kept.url).hash.slice(1), name: 'Grace', password: PASSWORD };
  const accepted: Sent = { key: null, body: acceptance };
  const signed = await world.send('POST', '/api/v1/invitations/look-up', {
    key: null,
    body: { token: acceptance.token },
  });
  assert.equal(signed.status, 200, signed.text);
  await does('acceptInvitation', /^(invitation|user|session):/, 'POST', '/invitations/accept', accepted);
  const first = { key: null, body: { email: ada.email, password: PASSWORD } };
  await does('signIn', /^session:/, 'POST', '/session', first);
  const adas = () => world.signIn(ada.email);
  const mine = world.as(await adas());
  const sessions = await world.send('GET', '/api/v1/sessions', mine);
  const another = sessions.json.data.find((one: { current: boolean }) => !one.current);
  await does('endSession', /^session:/, 'DELETE', `/sessions/${another.id}`, mine);
  await adas();
  await does('endOtherSessions', /^user:|^session:/, 'DELETE', '/sessions', mine);
  const changed = { current_password: PASSWORD, new_password: 'another good long password' };
  await does('changePassword', /^user:/, 'PUT', '/me/password', { ...mine, body: changed });
  const last = world.as(await world.signIn(ada.email, changed.new_password));
  await does('signOut', /^session:/, 'DELETE', '/session', last);
  await does('removeMember', /^user:/, 'DELETE', `/members/${member.id}`, owner);
}

async function changesOfWebhooks(
  world: World,
  by: (body: object) => Sent,
  owner: Sent,
  receiver: Receiver,
  does: Does,
): Promise<void> {
  const events = [{ event: 'issue.created' }];
  const plan = by({ name: 'One', url: receiver.url, events, secret: 'a-secret-of-mine' });
  const { id } = await does('createWebhook', /^webhook:/, 'POST', '/webhooks', plan);
  const path = `/webhooks/${id}`;
  await does('changeWebhook', /^webhook:/, 'PATCH', path, by({ name: 'Two' }));
  const sample = by({ event: 'issue.created' });
  await does('draftWebhookTest', /^webhook:/, 'POST', `${path}/test-request`, sample);
  await does('rotateWebhookSecret', /^webhook:/, 'POST', `${path}/rotate-secret`, by({}));
  const since = '2026-01-01T00:00:00Z';
  await does('recoverWebhook', /^webhook:/, 'POST', `${path}/recover`, by({ since, statuses: ['failed'] }));
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
  await does('retryDelivery', /^delivery:/, 'POST', retry, by({ at }));
  await does('cancelDeliveryRetry', /^delivery:/, 'DELETE', retry, owner);
  await does('testWebhook', /^webhook:/, 'POST', `${path}/test`, sample);
  await does('createListener', /^webhook:/, 'POST', '/listeners', by({ forward_to: 'http://127.0.0.1:9/' }));
  await does('deleteWebhook', /^webhook:/, 'DELETE', path, owner);
}
