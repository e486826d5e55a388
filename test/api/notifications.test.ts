import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { Notification } from '../../src/database/people/entities.ts';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { eventually } from '../support/eventually.ts';
import { addPerson } from '../support/people.ts';
import { assertProblem, assertWithin } from './problems.ts';
import { useWorld } from '../support/world.ts';

describe('notifications', () => {
  const world = useWorld();
  let owner: { id: string; cookie: string };
  let admin: { id: string; cookie: string };
  before(async () => {
    const cookie = await world.signIn();
    const me = await world.send('GET', '/api/v1/session', { cookie });
    owner = { id: me.json.user.id, cookie };
    const theirs = await addPerson(world, cookie, 'admin');
    const { json } = await world.send('GET', '/api/v1/session', { cookie: theirs });
    admin = { id: json.user.id, cookie: theirs };
  });
  beforeEach(async () => {
    await world.database.em
      .fork()
      .nativeDelete(Notification, { workspace_id: world.installation.workspace_id });
  });

  /** Returns ids with different times, so that they are ordered by creation. */
  const begun = Date.now();
  let made = 0;
  const nextId = (): string => derivedUuid(new Date(begun + ++made), `notice ${made}`);

  /** Stores a notification about a disabled webhook, `age` minutes old. */
  const notify = async (userId: string, age = 0): Promise<string> => {
    const id = nextId();
    await world.database.em.fork().insert(Notification, {
      id,
      workspace_id: world.installation.workspace_id,
      user_id: userId,
      kind: 'webhook.disabled',
      subject: `webhook:${randomUUIDv7()}`,
      detail: { name: 'Orders', failures: 10 },
      created_at: new Date(Date.now() - age * 60_000),
      read_at: null,
      emailed_at: null,
    });
    return id;
  };
  const list = (cookie: string, query = '') => world.send('GET', `/api/v1/notifications${query}`, { cookie });
  const idsOf = ({ json }: { json: { data: { id: string }[] } }) => json.data.map(({ id }) => id);
  const read = (id: string, cookie: string) =>
    world.send('POST', `/api/v1/notifications/${id}/read`, world.as(cookie));

  it('are listed for the user only, newest first', async () => {
    const mine = [await notify(owner.id, 2), await notify(owner.id, 1)];
    const theirs = await notify(admin.id);
    const { status, json } = await list(owner.cookie);
    assert.equal(status, 200);
    assert.deepEqual(idsOf({ json }), mine.toReversed());
    assert.deepEqual(Object.keys(json.data[0]), [
      'id',
      'kind',
      'subject',
      'detail',
      'created_at',
      'read_at',
      'open',
    ]);
    assert.deepEqual(json.data[0].detail, { name: 'Orders', failures: 10 });
    assert.equal(json.data[0].read_at, null);
    assert.deepEqual(idsOf(await list(admin.cookie)), [theirs]);
  });

  it('are paginated', async () => {
    const ids = [await notify(owner.id), await notify(owner.id), await notify(owner.id)].toReversed();
    const first = await list(owner.cookie, '?limit=2');
    assert.deepEqual(idsOf(first), ids.slice(0, 2));
    const second = await list(owner.cookie, `?limit=2&cursor=${first.json.next_cursor}`);
    assert.deepEqual(idsOf(second), ids.slice(2));
    assert.equal(second.json.next_cursor, null);
  });

  it('can be marked as read individually, and keep the first time', async () => {
    const [older, newer] = [await notify(owner.id), await notify(owner.id)];
    const { status, json } = await read(older, owner.cookie);
    assert.equal(status, 200);
    assertWithin(json.read_at, begun);
    assert.deepEqual(idsOf(await list(owner.cookie, '?unread=true')), [newer]);
    assert.deepEqual(idsOf(await list(owner.cookie, '?unread=false')), [newer, older]);
    assert.equal((await read(older, owner.cookie)).json.read_at, json.read_at);
  });

  it('can all be marked as read', async () => {
    await notify(owner.id);
    await notify(owner.id);
    const theirs = await notify(admin.id);
    const readAll = () => world.send('POST', '/api/v1/notifications/read-all', world.as(owner.cookie));
    assert.deepEqual((await readAll()).json, { count: 2 });
    assert.deepEqual((await readAll()).json, { count: 0 });
    assert.deepEqual(idsOf(await list(owner.cookie, '?unread=true')), []);
    assert.deepEqual(idsOf(await list(admin.cookie, '?unread=true')), [theirs]);
  });

  it('say whether a person is still needed', async () => {
    const submit = async (rehearsal: object) =>
      (await world.submit({ metadata: { rehearsal } })).json.execution_id;
    const asking = await submit({ ask: { step: 1, question: 'May I?' } });
    const escalated = await submit({ escalate: { step: 1, reason: 'Which one?' } });
    await Promise.all([world.reaches(asking, 'paused'), world.reaches(escalated, 'escalated')]);
    const open = async () => {
      const { json } = await list(owner.cookie);
      const rows = json.data.filter(({ open: isOpen }: { open: boolean }) => isOpen);
      return rows.map(({ kind }: { kind: string }) => kind).toSorted();
    };
    await eventually('both need a person', async () => (await open()).join() === 'task.asked,task.escalated');
    await world.send('POST', `/api/v1/tasks/${asking}/continue`, { body: { question: '1', reason: 'yes' } });
    await world.reaches(asking, 'completed');
    assert.deepEqual(await open(), ['task.escalated']);
    await world.send('POST', `/api/v1/tasks/${escalated}/rerun`, { body: { answer: 'That one' } });
    assert.deepEqual(await open(), []);
  });

  it('of another user are not found', async () => {
    const theirs = await notify(admin.id);
    assertProblem(await read(theirs, owner.cookie), 404, 'not_found');
    assertProblem(await read(randomUUIDv7(), owner.cookie), 404, 'not_found');
    assert.deepEqual(idsOf(await list(admin.cookie, '?unread=true')), [theirs]);
  });

  it('are available to users, not to keys', async () => {
    assertProblem(await world.send('GET', '/api/v1/notifications'), 403, 'forbidden');
    assertProblem(await world.send('GET', '/api/v1/notifications', { key: null }), 401, 'unauthenticated');
  });

  it('cannot be listed with invalid parameters', async () => {
    for (const query of ['?unread=yes', '?limit=0', '?cursor=x', '?kind=all']) {
      assertProblem(await list(owner.cookie, query), 400, 'bad_request');
    }
    assertProblem(await read('not-an-id', owner.cookie), 404, 'not_found');
  });
});
