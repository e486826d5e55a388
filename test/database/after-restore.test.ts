import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { findExistingRuns, restartUnfinished } from '../../src/database/common/after-restore.ts';
import { createOrphanControl } from '../../src/temporal/orphans.ts';
import { useInstallation } from '../support/installation.ts';

describe('after a restore of the database', () => {
  const fresh = useInstallation();
  const execute = <Row>(text: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute<Row[]>(text, values);

  async function storeGroup(event: string, isDone: boolean): Promise<string> {
    const id = randomUUIDv7();
    await execute(
      `insert into event_groups (id, created_at, events, bytes, started_at, done_at)
       values (?, now() - interval '1 hour', 1, 2, now(), ?)`,
      [id, isDone ? new Date() : null],
    );
    await execute(
      `insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, words, received_at)
       values (?, ?, ?, 'issue.created', now(), '', '{}', '', now())`,
      [fresh.installation.workspace_id, event, id],
    );
    return id;
  }

  async function storeDelivery(status: string): Promise<string> {
    const [webhook, id] = [randomUUIDv7(), randomUUIDv7()];
    const { workspace_id } = fresh.installation;
    await execute(
      `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
       values (?, ?, 'A webhook', 'https://example.com', '[]', 'key:test', now(), now())`,
      [webhook, workspace_id],
    );
    await execute(
      `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, generation,
                               retry_started, created_at, updated_at)
       values (?, ?, ?, 1, 'evt_1', 'issue.created', ?, 4, true, now(), now())`,
      [id, workspace_id, webhook, status],
    );
    return id;
  }

  it('unfinished groups and retries start again, under ids that Temporal cannot know', async () => {
    const open = await storeGroup('evt_open', false);
    const done = await storeGroup('evt_done', true);
    const retrying = await storeDelivery('retrying');
    const failed = await storeDelivery('failed');

    assert.deepEqual(await restartUnfinished(fresh.database), { groups: 1, retries: 1 });

    const groups = await execute<{ id: string; group_id: string }>('select id, group_id from events');
    const groupOf = new Map(groups.map((event) => [event.id, event.group_id]));
    assert.equal(groupOf.get('evt_done'), done);
    const renewed = groupOf.get('evt_open');
    assert.notEqual(renewed, open);
    const waiting = await execute<{ id: string; events: number; bytes: number; is_started: boolean }>(
      `select id, events, bytes::integer as bytes, started_at is not null as is_started from event_groups
       where done_at is null`,
    );
    assert.deepEqual(waiting, [{ id: renewed, events: 1, bytes: 2, is_started: false }]);
    const deliveries = await execute<{ id: string; generation: number; retry_started: boolean }>(
      'select id, generation, retry_started from deliveries order by id',
    );
    assert.deepEqual(deliveries, [
      { id: retrying, generation: 5, retry_started: false },
      { id: failed, generation: 4, retry_started: true },
    ]);
  });

  it('the runs that are in the database are found', async () => {
    const [known, unknown] = [randomUUID(), randomUUID()];
    const { workspace_id, project_id } = fresh.installation;
    await execute(
      `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret, created_at,
                              updated_at, state)
       values (?, ?, ?, 'key:test', 'A task', 'chore', '', now(), now(), 'planning')`,
      [known, workspace_id, project_id],
    );
    assert.deepEqual(await findExistingRuns(fresh.database, [known, unknown]), new Set([known]));
    assert.deepEqual(await findExistingRuns(fresh.database, []), new Set());
  });
});

describe('the runs that only Temporal knows', () => {
  const [one, other] = [randomUUID(), randomUUID()];
  const ended: string[] = [];
  let error: Error | null = null;
  const queries: string[] = [];
  const client = {
    workflow: {
      async *list({ query }: { query: string }) {
        queries.push(query);
        for (const workflowId of [one, 'nightly-job', other]) yield { workflowId };
      },
      getHandle: (id: string) => ({
        async terminate() {
          if (error) throw error;
          ended.push(id);
        },
      }),
    },
  } as unknown as Client;
  const control = createOrphanControl(client, 'baton');

  it('are among its open runs, not among the workflows of other programs', async () => {
    const found = (await Array.fromAsync(control.openRuns())).flat();
    assert.deepEqual(found, [one, other]);
    assert.match(
      queries[0] ?? '',
      /TaskQueue = 'baton.*' and WorkflowType = 'taskRun' and ExecutionStatus in \(/,
    );
  });

  it('are ended, unless they have ended before', async () => {
    await control.end(one);
    assert.deepEqual(ended, [one]);
    error = new WorkflowNotFoundError('not found', other, undefined);
    await control.end(other);
    error = new Error('no response');
    await assert.rejects(control.end(other), /no response/);
  });
});
