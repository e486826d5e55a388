import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { createInvitation } from '../../src/database/people/invitations.ts';
import { changeRole } from '../../src/database/people/members.ts';
import {
  beginPush,
  claimDuePushes,
  listPushAttempts,
  listPushConfigs,
  savePushConfig,
} from '../../src/database/tasks/push.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { claimGroups } from '../../src/database/webhooks/dispatch.ts';
import { beginListening } from '../../src/database/webhooks/listeners.ts';
import { claimRequests } from '../../src/database/webhooks/relays.ts';
import { markWatched } from '../../src/database/webhooks/watched-webhooks.ts';
import { MAX_A2A_PUSH_CONFIGS, MAX_OPEN_INVITATIONS } from '../../src/domain/common/limits.ts';
import { useInstallation } from '../support/installation.ts';
import { inTransaction, whileLocked, type Statement } from '../support/locked.ts';
import { newRunRow } from '../support/run-row.ts';

const URL = 'https://receiver.example.com/';
const now = new Date();

/** In PostgreSQL, a statement that waited for a row sees the new version of that row, but no other rows since its start. */
describe('a statement that waits for another transaction', () => {
  const fresh = useInstallation();
  const execute = (text: string, values: unknown[] = []) => fresh.database.em.fork().execute(text, values);
  const owner = async () => {
    const [row] = await execute('select user_id as id, workspace_id as "workspaceId" from members');
    return row as { id: string; workspaceId: string };
  };

  describe('for push notifications', () => {
    let executionId: string;
    beforeEach(async () => {
      const run = newRunRow(fresh.installation);
      await insertRun(fresh.database, run);
      executionId = run.id;
    });
    const save = (id: string) =>
      savePushConfig(fresh.database, { executionId, id, url: URL, secrets: '', after: 0, now });
    const insertion = `
      insert into push_configs (execution_id, id, url, secrets, sent_seq, created_at)
      select $1, 'other-' || n, '${URL}', '', 0, now() from generate_series(1, ${MAX_A2A_PUSH_CONFIGS}) n`;

    it('counts the addresses that were stored during the wait', async () => {
      const others: Statement[] = [
        ['select from task_runs where id = $1 for no key update', executionId],
        [insertion, executionId],
      ];
      assert.equal(await whileLocked(fresh.database, others, () => save('one more')), 'full');
      assert.equal((await listPushConfigs(fresh.database, executionId)).length, MAX_A2A_PUSH_CONFIGS);
    });

    it('does not claim what another process is claiming', async () => {
      await save('one');
      await execute(
        `insert into task_events (execution_id, seq, key, type, at, data) values (?, 1, 'a', 'state.changed', now(), '{}')`,
        [executionId],
      );
      await execute('update task_runs set last_seq = 1 where id = ?', [executionId]);
      const until = new Date(now.getTime() + 60_000);
      const claim = () => claimDuePushes(fresh.database, { now, until, limit: 10 });
      const other: Statement = [
        'update push_configs set claimed_until = $2 where execution_id = $1',
        executionId,
        until,
      ];
      await inTransaction(fresh.database, [other], async (commit) => {
        assert.deepEqual(await claim(), []);
        await commit();
      });
      assert.deepEqual(await claim(), []);
    });

    it('leaves the attempt open that another process has begun', async () => {
      await save('one');
      const begin = () =>
        beginPush(
          fresh.database,
          { executionId, id: 'one', seq: 1 },
          {
            id: randomUUIDv7(),
            attempt: 1,
            url: URL,
            request_headers: {},
            request_body: '',
            attempted_at: now,
          },
        );
      assert.deepEqual([await begin(), await begin()], [true, false]);
      const attempts = await listPushAttempts(fresh.database, executionId);
      assert.deepEqual(
        attempts.map(({ attempt, completed_at }) => [attempt, completed_at ?? null]),
        [[1, null]],
      );
    });
  });

  it('does not claim a group of events whose events have moved to another group', async () => {
    const [group, next] = [randomUUIDv7(), randomUUIDv7()];
    const insertGroup = `insert into event_groups (id, created_at, events, bytes) values ($1, now(), 1, 2)`;
    await execute(insertGroup.replace('$1', '?'), [group]);
    await execute(
      `insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, words, received_at)
       values (?, 'evt_1', ?, 'issue.created', now(), '', '{}', '', now())`,
      [fresh.installation.workspace_id, group],
    );
    const moves: Statement[] = [
      ['update event_groups set done_at = now() where id = $1', group],
      [insertGroup, next],
      ['update events set group_id = $2 where group_id = $1', group, next],
    ];
    const claimed = await whileLocked(fresh.database, moves, () =>
      claimGroups(fresh.database, [group], 'one'),
    );
    assert.deepEqual(claimed, { events: [], isRepeat: false });
    const { events } = await claimGroups(fresh.database, [next], 'another');
    assert.equal(events.length, 1);
  });

  describe('for a webhook', () => {
    let webhookId: string;
    beforeEach(async () => {
      webhookId = randomUUIDv7();
      await execute(
        `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at, listening_until)
         values (?, ?, 'One', '${URL}', '[]', 'user:a', now(), now(), now())`,
        [webhookId, fresh.installation.workspace_id],
      );
    });

    it('gives a new listener what the previous one has claimed during the wait', async () => {
      const which = { webhookId, workspaceId: fresh.installation.workspace_id };
      await execute(`insert into relayed_requests (id, webhook_id, request) values (?, ?, '{"id":"one"}')`, [
        randomUUIDv7(),
        webhookId,
      ]);
      const claims: Statement[] = [
        ['select from webhooks where id = $1 for update', webhookId],
        ['update relayed_requests set taken_at = now() where webhook_id = $1', webhookId],
      ];
      await whileLocked(fresh.database, claims, () => beginListening(fresh.database, which));
      assert.equal((await claimRequests(fresh.database, webhookId, 10)).length, 1);
    });

    it('is marked as watched without a wait for the old mark of another one', async () => {
      const other = randomUUIDv7();
      await execute(`insert into watched_webhooks values (?, now() - interval '2 hours')`, [other]);
      const mark: Statement = ['update watched_webhooks set until = now() where webhook_id = $1', other];
      await inTransaction(fresh.database, [mark], () => markWatched(fresh.database, [webhookId]));
      const marked = await execute('select from watched_webhooks where webhook_id = ?', [webhookId]);
      assert.equal(marked.length, 1);
    });
  });

  it('does not take the role from the only owner', async () => {
    const first = await owner();
    const { workspaceId } = first;
    const second = randomUUIDv7();
    await execute(`insert into users (id, email, name, created_at) values (?, 'b@example.com', 'B', now())`, [
      second,
    ]);
    const change = { workspaceId, userId: second, actor: 'system', now } as const;
    const changes: Statement[] = [
      [`insert into members values ($1, $2, 'owner', now())`, workspaceId, second],
      [`update members set role = 'admin' where user_id = $1`, first.id],
    ];
    const outcome = await whileLocked(fresh.database, changes, () =>
      changeRole(fresh.database, change, 'member'),
    );
    assert.equal(outcome, 'last_owner');
    await execute(`update members set role = 'owner' where user_id = ?`, [first.id]);
  });

  it('does not exceed the limit of open invitations', async () => {
    const { id: userId, workspaceId } = await owner();
    const insertion = `
      insert into invitations (id, workspace_id, email, role, token_hash, invited_by, created_at, expires_at)
      select gen_random_uuid(), $1, n || '@example.com', 'viewer', n::text, $2, now(), now() + interval '1 day'
      from generate_series($3::integer, $4::integer) n`;
    const others: Statement[] = [
      ['select pg_advisory_xact_lock(hashtext($1))', `baton invitations ${workspaceId}`],
      [insertion, workspaceId, userId, 1, MAX_OPEN_INVITATIONS],
    ];
    const invited = await whileLocked(fresh.database, others, () =>
      createInvitation(fresh.database, {
        workspaceId,
        userId,
        email: 'new@example.com',
        role: 'viewer',
        tokenHash: 'new',
        expiresAt: new Date(now.getTime() + 60_000),
        now,
      }),
    );
    assert.equal(invited, 'too_many');
  });
});
