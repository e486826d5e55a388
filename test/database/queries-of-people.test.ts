import assert from 'node:assert/strict';
import { findActors, readActorLabels } from '../../src/database/people/actors.ts';
import { ApiKey, Member, Notification, Project, Session, User } from '../../src/database/people/entities.ts';
import {
  findActiveKey,
  listKeys,
  recordKeyUse,
  revokeKey,
  rotateKey,
} from '../../src/database/people/keys.ts';
import { findLastCalls } from '../../src/database/people/last-calls.ts';
import { removeMember } from '../../src/database/people/members.ts';
import {
  findOpenNotices,
  listNotices,
  listUnmailedOccasions,
  mailNextNotice,
  markMailsStarted,
  readAllNotices,
  readNotice,
} from '../../src/database/people/notices.ts';
import { findProject, listProjectIds, listProjects } from '../../src/database/people/projects.ts';
import { findActiveSession, isSessionActive, listSessions } from '../../src/database/people/sessions.ts';
import { findTokenHolder } from '../../src/database/people/token-holders.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { SCOPES, type Role, type Scope } from '../../src/domain/people/access.ts';
import { createWorkspace, type Installation } from '../../src/runtime/installation.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

const DAY_MS = 86_400_000;
const begun = Date.now();
const at = (ms: number) => new Date(begun + ms);
/** Returns an id. A larger number is a later id. */
const idOf = (number: number) => `01890000-0000-7000-8000-${String(number).padStart(12, '0')}`;

describe('a query about people', () => {
  const fresh = useInstallation();
  const entities = () => fresh.database.em.fork();
  const execute = (text: string, values: unknown[] = []) => entities().execute(text, values);
  let other: Installation;
  let made = 0;
  before(async () => {
    const plan = { workspaceName: 'Other', projectName: 'Other', adminEmail: 'other@example.com' };
    other = await createWorkspace(entities(), plan);
  });
  const here = () => fresh.installation.workspace_id;
  const there = () => other.workspace_id;

  async function newPerson(...roles: [workspaceId: string, role: Role][]) {
    const id = crypto.randomUUID();
    const email = `person-${(made += 1)}@example.com`;
    await entities().insert(User, { id, email, name: `Person ${made}`, created_at: at(0) });
    for (const [workspace_id, role] of roles)
      await entities().insert(Member, { workspace_id, user_id: id, role, created_at: at(0) });
    return { id, email, name: `Person ${made}` };
  }

  describe('for keys', () => {
    const names = async (filter: object, limit = 10) => {
      const keys = await listKeys(fresh.database, { workspaceId: here(), limit, ...filter });
      return keys.map(({ name }) => name);
    };
    /** Stores a key of this workspace and its project, created by the installation. */
    const store = async (number: number, name: string, fields: object = {}) => {
      const key = {
        id: idOf(number),
        workspace_id: here(),
        project_id: fresh.installation.project_id,
        name,
        prefix: `bt_${number}`,
        key_hash: `hash ${number}`,
        scopes: ['tasks:read', 'webhooks:write'] as Scope[],
        created_by: 'system',
        created_at: at(0),
      };
      await entities().insert(ApiKey, { ...key, ...fields });
    };
    let ada: { id: string };
    let second: string;
    before(async () => {
      ada = await newPerson([here(), 'admin'], [there(), 'admin']);
      await execute('delete from api_keys');
      second = crypto.randomUUID();
      const project = { id: second, workspace_id: here(), key: 'SECOND', name: 'Second', created_at: at(0) };
      await entities().insert(Project, project);
      const theirs = { created_by: `user:${ada.id}` };
      await store(1, 'of Ada', theirs);
      await store(2, 'of Ada elsewhere', { ...theirs, workspace_id: there(), project_id: other.project_id });
      await store(3, 'of another project', { project_id: second });
      await store(4, 'revoked', { ...theirs, revoked_at: at(-1), replaced_by: idOf(1) });
      await store(5, 'expired', { ...theirs, expires_at: at(0) });
      await store(6, 'about to expire', { ...theirs, expires_at: at(1) });
      await store(7, 'valid for a day', { ...theirs, expires_at: at(DAY_MS), last_used_at: at(-5) });
    });

    it('returns those that match each filter, newest first', async () => {
      const all = [
        'valid for a day',
        'about to expire',
        'expired',
        'revoked',
        'of another project',
        'of Ada',
      ];
      assert.deepEqual(await names({}), all);
      assert.deepEqual(await names({ projectId: second }), ['of another project']);
      assert.deepEqual(
        await names({ creatorId: ada.id }),
        all.filter((name) => name !== 'of another project'),
      );
      assert.deepEqual(await names({ activeAt: at(0) }), [
        'valid for a day',
        'about to expire',
        'of another project',
        'of Ada',
      ]);
      assert.deepEqual(await names({ activeAt: at(1), creatorId: ada.id }), ['valid for a day', 'of Ada']);
      assert.deepEqual(await names({ cursor: idOf(5) }, 2), ['revoked', 'of another project']);
    });

    it('returns an active one with what requests need, by its hash or id', async () => {
      const valid = {
        id: idOf(7),
        workspace_id: here(),
        project_id: fresh.installation.project_id,
        name: 'valid for a day',
        prefix: 'bt_7',
        scopes: ['tasks:read', 'webhooks:write'],
        expires_at: at(DAY_MS),
      };
      assert.deepEqual(await findActiveKey(fresh.database, { hash: 'hash 7' }), valid);
      assert.deepEqual(await findActiveKey(fresh.database, { id: idOf(7) }), valid);
      for (const number of [4, 5, 8]) {
        assert.equal(await findActiveKey(fresh.database, { hash: `hash ${number}` }), null);
        assert.equal(await findActiveKey(fresh.database, { id: idOf(number) }), null);
      }
    });

    it('changes none of another workspace', async () => {
      const which = { workspaceId: here(), id: idOf(2), actor: 'system', now: at(1) };
      assert.equal(await revokeKey(fresh.database, which), null);
      const rotation = { ...which, oldUntil: at(2), secret: { prefix: 'bt_x', hash: 'x' } };
      assert.equal(await rotateKey(fresh.database, rotation), null);
      const elsewhere = { ...rotation, workspaceId: there(), id: idOf(2) };
      const notAnAdmin = { ...elsewhere, actor: `user:${(await newPerson([here(), 'admin'])).id}` };
      assert.equal(await rotateKey(fresh.database, notAnAdmin), null);
      assert.equal((await findActiveKey(fresh.database, { id: idOf(2) }))?.expires_at, null);
    });

    it('records a use of that key alone, and revokes only active ones of a removed member', async () => {
      await recordKeyUse(fresh.database, idOf(1), at(9));
      const removal = { workspaceId: here(), userId: ada.id, actor: 'system', revokeKeys: true, now: at(1) };
      assert.equal(await removeMember(fresh.database, removal), null);
      const rows = await entities().find(ApiKey, {}, { orderBy: { id: 'asc' } });
      const ms = (time: Date | null | undefined) => (time ? time.getTime() - begun : null);
      assert.deepEqual(
        rows.map((row) => [row.name, ms(row.last_used_at), ms(row.revoked_at)]),
        [
          ['of Ada', 9, 1],
          ['of Ada elsewhere', null, null],
          ['of another project', null, null],
          ['revoked', null, -1],
          ['expired', null, null],
          ['about to expire', null, null],
          ['valid for a day', -5, 1],
        ],
      );
    });
  });

  it('for projects returns those of the workspace', async () => {
    const { project_id: mine, workspace_id: workspaceId } = await createWorkspace(entities(), {
      workspaceName: 'Third',
      projectName: 'Third',
      adminEmail: 'third@example.com',
    });
    // Later than any id of this test run.
    const ids = [1, 2, 3].map((number) => `f${idOf(number).slice(1)}`);
    for (const id of ids) {
      const key = `K${id.at(-1)}`;
      await entities().insert(Project, { id, workspace_id: workspaceId, key, name: key, created_at: at(0) });
    }
    const list = async (page: object, limit = 10) =>
      (await listProjects(fresh.database, { workspaceId, id: null, limit, ...page })).map(({ id }) => id);
    assert.deepEqual(await list({}), [...ids.toReversed(), mine]);
    assert.deepEqual(await list({ cursor: ids[2] }, 2), [ids[1], ids[0]]);
    assert.deepEqual(await list({ id: ids[1] }), [ids[1]]);
    assert.deepEqual(await list({ id: ids[1], cursor: ids[1] }), []);
    assert.deepEqual(await list({ id: other.project_id }), []);
    assert.deepEqual(await listProjectIds(fresh.database, workspaceId), [mine, ...ids]);
    assert.equal((await findProject(fresh.database, ids[0] ?? ''))?.workspace_id, workspaceId);
  });

  it('for sessions returns the active ones of the person, to the millisecond', async () => {
    const [one, two] = [await newPerson([here(), 'viewer']), await newPerson([here(), 'viewer'])];
    const store = async (number: number, fields: object) => {
      const times = { created_at: at(0), last_seen_at: at(0), expires_at: at(DAY_MS) };
      const session = { id: idOf(number), user_id: one.id, token_hash: `session ${number}`, ...times };
      await entities().insert(Session, { ...session, ...fields });
    };
    const idle = 3 * DAY_MS;
    await store(11, {});
    await store(12, { expires_at: at(1) });
    await store(13, { expires_at: at(2) });
    await store(14, { last_seen_at: at(1 - idle) });
    await store(15, { last_seen_at: at(2 - idle) });
    await store(16, { user_id: two.id });
    await store(17, {});
    const list = async (page: object, limit = 10) => {
      const rows = await listSessions(fresh.database, { userId: one.id, now: at(1), limit, ...page });
      return rows.map(({ id }) => id);
    };
    assert.deepEqual(await list({}), [17, 15, 13, 11].map(idOf));
    assert.deepEqual(await list({ cursor: idOf(15) }, 1), [idOf(13)]);
    // The clock of the database counts for these.
    for (const [number, isActive] of [
      [11, true],
      [12, false],
      [14, false],
      [17, true],
    ] as const) {
      assert.equal(await isSessionActive(fresh.database, idOf(number)), isActive, String(number));
      const found = await findActiveSession(fresh.database, `session ${number}`);
      assert.equal(found?.id, isActive ? idOf(number) : undefined);
    }
  });

  it('for the holder of a token returns what the key or the person may do now', async () => {
    const { project_id: projectId } = fresh.installation;
    const [one, both] = [
      await newPerson([here(), 'member']),
      await newPerson([here(), 'viewer'], [there(), 'owner']),
    ];
    const session = {
      token_hash: 'of a token',
      created_at: at(0),
      last_seen_at: at(0),
      expires_at: at(DAY_MS),
    };
    await entities().insert(Session, { id: idOf(21), user_id: one.id, ...session });
    const claims = { workspaceId: here(), projectId, scopes: [...SCOPES], expiresAt: at(0) };
    const person = (id: string, fields: object = {}) =>
      ({ ...claims, origin: 'own', subject: `user:${id}`, sessionId: idOf(21), ...fields }) as const;
    assert.deepEqual(await findTokenHolder(fresh.database, person(one.id)), {
      projectId,
      workspaceId: here(),
      scopes: ['tasks:read', 'tasks:write', 'webhooks:read'],
      actor: `user:${one.id}`,
      label: `user:${one.email}`,
    });
    const few = await findTokenHolder(
      fresh.database,
      person(one.id, { scopes: ['tasks:write', 'events:write'] }),
    );
    assert.deepEqual(few?.scopes, ['tasks:write']);
    const ofBoth = await findTokenHolder(fresh.database, person(both.id));
    assert.deepEqual(ofBoth?.scopes, ['tasks:read', 'webhooks:read'], 'the role in this workspace');
    assert.equal(await findTokenHolder(fresh.database, person(one.id, { workspaceId: there() })), null);
    assert.equal(await findTokenHolder(fresh.database, person(one.id, { sessionId: idOf(22) })), null);
    assert.ok(await findTokenHolder(fresh.database, person(one.id, { sessionId: null })));
    assert.equal(await findTokenHolder(fresh.database, person(crypto.randomUUID())), null);

    const key = { id: idOf(23), workspace_id: here(), project_id: projectId, name: 'CI', prefix: 'bt_23' };
    const stored = { key_hash: 'hash 23', scopes: ['tasks:read'] as Scope[], created_by: 'system' };
    await entities().insert(ApiKey, { ...key, ...stored, created_at: at(0) });
    const ofKey = { ...claims, origin: 'own', subject: `key:${key.id}`, sessionId: null } as const;
    assert.deepEqual(await findTokenHolder(fresh.database, ofKey), {
      projectId,
      workspaceId: here(),
      scopes: ['tasks:read'],
      actor: `key:${key.id}`,
      label: 'key:bt_23',
    });
    const outside = { ...claims, origin: 'outside', subject: 'ada', projectId: other.project_id } as const;
    assert.deepEqual(await findTokenHolder(fresh.database, outside), {
      projectId: other.project_id,
      workspaceId: there(),
      scopes: [...SCOPES],
      actor: 'token:ada',
      label: 'token:ada',
    });
    for (const unknown of [crypto.randomUUID(), 'x'])
      assert.equal(await findTokenHolder(fresh.database, { ...outside, projectId: unknown }), null);
  });

  it('for actors returns labels, and the actors of a label in the workspace', async () => {
    const { id, email } = await newPerson();
    const store = async (keyId: string, workspace_id: string, project_id: string, prefix: string) => {
      const key = { id: keyId, workspace_id, project_id, prefix, name: 'CI', key_hash: keyId };
      await entities().insert(ApiKey, { ...key, scopes: [], created_by: 'system', created_at: at(0) });
    };
    const { project_id: projectId } = fresh.installation;
    await store(idOf(31), here(), projectId, 'bt_same');
    await store(idOf(32), there(), other.project_id, 'bt_same');
    await store(idOf(33), here(), projectId, email);
    const unknown = crypto.randomUUID();
    const actors = [
      `user:${id}`,
      `key:${idOf(31)}`,
      `user:${unknown}`,
      `key:${id}`,
      `user:${idOf(31)}`,
      'system',
    ];
    const labelOf = await readActorLabels(fresh.database, [...actors, 'webhook:x']);
    assert.deepEqual(actors.map(labelOf), [`user:${email}`, 'key:bt_same', ...actors.slice(2)]);
    const onlyPeople = await readActorLabels(fresh.database, [`user:${id}`]);
    assert.equal(onlyPeople(`user:${id}`), `user:${email}`);
    const onlyKeys = await readActorLabels(fresh.database, [`key:${idOf(31)}`]);
    assert.equal(onlyKeys(`key:${idOf(31)}`), 'key:bt_same');
    assert.equal((await readActorLabels(fresh.database, ['system']))('system'), 'system');

    const find = (label: string) => findActors(fresh.database, { workspaceId: here(), label });
    assert.deepEqual(await find(`user:${email.toUpperCase()}`), [
      `user:${email.toUpperCase()}`,
      `user:${id}`,
    ]);
    assert.deepEqual(await find('key:bt_same'), ['key:bt_same', `key:${idOf(31)}`]);
    assert.deepEqual(await find(`key:${email}`), [`key:${email}`, `key:${idOf(33)}`]);
    assert.deepEqual(await find('user:bt_same'), ['user:bt_same']);
    assert.deepEqual(await find('key:BT_SAME'), ['key:BT_SAME']);
    assert.deepEqual(await find('agent:x'), ['agent:x']);
  });

  it('for the last calls returns the newest of each model', async () => {
    const run = newRunRow(fresh.installation);
    await insertRun(fresh.database, run);
    let number = 0;
    const store = (name: string, kind: string, ms: number, failure: string | null) =>
      execute(
        `insert into agent_calls (execution_id, step_id, attempt, number, kind, name, failure, started_at, duration_ms)
         values (?, ?, 1, ?, ?, ?, ?, ?, 7)`,
        [run.id, idOf(1), (number += 1), kind, name, failure, at(ms)],
      );
    await store('a', 'model', 2, 'it failed');
    await store('a', 'model', 1, null);
    await store('a', 'tool', 3, null);
    await store('b', 'model', 4, 'it failed');
    await store('b', 'model', 5, null);
    await store('c', 'model', 6, null);
    await store('d', 'tool', 7, null);
    assert.deepEqual(
      await findLastCalls(fresh.database, ['a', 'b', 'd', 'e']),
      new Map([
        ['a', { at: at(2).toISOString(), ok: false }],
        ['b', { at: at(5).toISOString(), ok: true }],
      ]),
    );
  });

  describe('for notices', () => {
    /** Stores a notice. By default it is about a disabled webhook, and neither read nor mailed. */
    const store = async (
      number: number,
      { id: user_id }: { id: string },
      fields: Partial<{
        workspace_id: string;
        kind: string;
        subject: string;
        detail: Record<string, unknown>;
        created_at: Date;
        read_at: Date;
        emailed_at: Date;
        mail_started_at: Date;
      }> = {},
    ) => {
      const notice = { id: idOf(number), workspace_id: here(), user_id, kind: 'webhook.disabled' };
      const about = { subject: `webhook:${idOf(number)}`, detail: {}, created_at: at(0) };
      await entities().insert(Notification, { ...notice, ...about, ...fields });
    };
    beforeEach(() => execute('delete from notifications'));

    it('returns those of the person in the workspace, newest first', async () => {
      const roles = [
        [here(), 'admin'],
        [there(), 'admin'],
      ] as [string, Role][];
      const [one, two] = [await newPerson(...roles), await newPerson(...roles)];
      const owner = { userId: one.id, workspaceId: here() };
      await store(1, one);
      await store(2, one, { read_at: at(1) });
      await store(3, one, { workspace_id: there() });
      await store(4, two);
      await store(5, one);
      const list = async (page: object, limit = 10) => {
        const notices = await listNotices(fresh.database, { ...owner, unread: false, limit, ...page });
        return notices.map(({ id }) => Number(id.slice(-2)));
      };
      assert.deepEqual(await list({}), [5, 2, 1]);
      assert.deepEqual(await list({ unread: true }), [5, 1]);
      assert.deepEqual(await list({ cursor: idOf(5) }, 1), [2]);
      const read = async (number: number, ms: number) => {
        const notice = await readNotice(fresh.database, { ...owner, id: idOf(number), now: at(ms) });
        return notice && [Number(notice.id.slice(-2)), (notice.read_at?.getTime() ?? 0) - begun];
      };
      assert.deepEqual(
        [await read(2, 9), await read(1, 9), await read(3, 9), await read(4, 9)],
        [[2, 1], [1, 9], null, null],
      );
      await store(6, one);
      assert.equal(await readAllNotices(fresh.database, { ...owner, now: at(10) }), 2);
      const rows = await entities().find(Notification, {}, { orderBy: { id: 'asc' } });
      assert.deepEqual(
        rows.map(({ read_at: when }) => when && when.getTime() - begun),
        [9, 1, null, null, 10, 10],
      );
    });

    it('says whether a person is still needed', async () => {
      let number = 0;
      const expected: string[] = [];
      const add = async (isOpen: boolean, fields: Parameters<typeof store>[2]) => {
        await store((number += 1), await newPerson(), fields);
        if (isOpen) expected.push(idOf(number));
      };
      const run = async (state: string, question: object | null = null, fields: object = {}) => {
        const row = newRunRow(fresh.installation, fields);
        await insertRun(fresh.database, row);
        const paused = state === 'paused' ? 'executing' : null;
        const ended = state === 'escalated' ? at(0) : null;
        await execute(
          `update task_runs set state = ?, paused_from = ?, question = ?::json, completed_at = ? where id = ?`,
          [state, paused, question && JSON.stringify(question), ended, row.id],
        );
        return row.id;
      };
      const asked = (id: string, question: string) => ({
        kind: 'task.asked',
        subject: `task:${id}`,
        detail: { question_id: question },
      });
      const unnamed = await run('paused', { text: 'Now?' });
      await add(true, asked(unnamed, '1'));
      await add(false, asked(unnamed, '2'));
      const third = await run('paused', { id: '3', text: 'Now?' });
      await add(true, asked(third, '3'));
      await add(false, asked(third, '1'));
      await add(false, asked(await run('paused'), '1'));
      await add(false, asked(await run('executing', { id: '1', text: 'Now?' }), '1'));
      const about = (id: string) => ({ kind: 'task.escalated', subject: `task:${id}` });
      const alone = await run('escalated');
      await add(true, about(alone));
      const rerun = await run('escalated');
      const later = newRunRow(fresh.installation);
      await insertRun(fresh.database, later);
      await execute('update task_runs set rerun_of = ? where id = ?', [rerun, later.id]);
      await add(false, about(rerun));
      await add(false, about(later.id));
      const webhook = async (disabledAt: Date | null, deletedAt: Date | null = null) => {
        const id = crypto.randomUUID();
        await execute(
          `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at, disabled_at, deleted_at)
           values (?, ?, 'W', 'https://example.com', '[]', 'system', now(), now(), ?, ?)`,
          [id, here(), disabledAt, deletedAt],
        );
        return { kind: 'webhook.disabled', subject: `webhook:${id}`, created_at: at(0) };
      };
      await add(true, await webhook(at(0)));
      await add(false, await webhook(at(1)));
      await add(false, await webhook(null));
      await add(false, await webhook(at(0), at(1)));
      await add(false, { kind: 'unknown', subject: `task:${alone}` });
      const all = await entities().find(Notification, {});
      assert.deepEqual([...(await findOpenNotices(fresh.database, all))].toSorted(), expected);
      const some = await findOpenNotices(fresh.database, [{ id: idOf(1) }, { id: idOf(2) }]);
      assert.deepEqual([...some], [idOf(1)]);
      assert.deepEqual(await findOpenNotices(fresh.database, []), new Set());
    });

    it('mails those of the occasion, with the names of the person and the workspace', async () => {
      const memberHere = () => newPerson([here(), 'member'], [there(), 'viewer']);
      const ownerThere = () => newPerson([here(), 'viewer'], [there(), 'owner']);
      const [one, two] = [await memberHere(), await ownerThere()];
      const about = { kind: 'task.escalated', subject: `task:${idOf(1)}`, detail: { title: 'A' } };
      await store(1, one, { ...about, created_at: at(1) });
      await store(2, one, { ...about, kind: 'task.asked' });
      await store(3, one, { ...about, subject: `task:${idOf(2)}` });
      await store(4, await memberHere(), { ...about, emailed_at: at(1) });
      await store(5, await memberHere(), { ...about, workspace_id: there() });
      await store(6, await ownerThere(), about);
      await store(7, one, about);
      await store(8, two, { ...about, workspace_id: there(), detail: { title: 'B' } });
      const mailed: object[] = [];
      const occasion = { kind: 'task.escalated', id: idOf(1), at: at(0), except: [] } as const;
      const next = async () =>
        await mailNextNotice(
          fresh.database,
          occasion,
          async (notice) => void mailed.push(notice),
          () => at(5),
        );
      assert.deepEqual([await next(), await next(), await next()], [true, true, false]);
      assert.deepEqual(mailed, [
        { id: idOf(7), email: one.email, person: one.name, workspace: 'Test', detail: { title: 'A' } },
        { id: idOf(8), email: two.email, person: two.name, workspace: 'Other', detail: { title: 'B' } },
      ]);
      const rows = await entities().find(Notification, { emailed_at: at(5) }, { orderBy: { id: 'asc' } });
      assert.deepEqual(
        rows.map(({ id }) => id),
        [7, 8].map(idOf),
      );
    });

    it('returns each occasion of a time span without a started mail once, oldest first', async () => {
      const [one, two] = [await newPerson([here(), 'owner']), await newPerson([here(), 'owner'])];
      const task = { kind: 'task.escalated', subject: `task:${idOf(2)}` };
      await store(1, one, { created_at: at(10) });
      await store(2, one, { created_at: at(30) });
      await store(3, one, { created_at: at(20), kind: 'task.unknown' });
      await store(4, one, { created_at: at(20), emailed_at: at(20) });
      await store(5, one, { created_at: at(20), mail_started_at: at(20) });
      await store(6, one, { created_at: at(29), ...task, kind: 'task.asked' });
      for (const [number, person] of [
        [7, one],
        [8, two],
      ] as const)
        await store(number, person, { created_at: at(12), ...task });
      await store(9, one, { created_at: at(12), subject: `webhook:${idOf(3)}` });
      await store(10, one, { created_at: at(11) });
      const list = (limit: number) =>
        listUnmailedOccasions(fresh.database, { after: at(10), before: at(30), limit });
      const occasions = [
        { kind: 'webhook.disabled', id: idOf(10), at: at(11) },
        { kind: 'task.escalated', id: idOf(2), at: at(12) },
        { kind: 'webhook.disabled', id: idOf(3), at: at(12) },
        { kind: 'task.asked', id: idOf(2), at: at(29) },
      ] as const;
      assert.deepEqual(await list(10), occasions);
      assert.deepEqual(await list(2), occasions.slice(0, 2));
      await markMailsStarted(fresh.database, occasions[1], at(40));
      await markMailsStarted(fresh.database, occasions[1], at(41));
      assert.deepEqual(await list(10), [occasions[0], ...occasions.slice(2)]);
      const started = await entities().find(
        Notification,
        { mail_started_at: { $gt: at(20) } },
        { orderBy: { id: 'asc' } },
      );
      assert.deepEqual(
        started.map(({ id, mail_started_at: when }) => [id, when]),
        [7, 8].map((number) => [idOf(number), at(40)]),
      );
    });
  });
});
