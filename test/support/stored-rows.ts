import { randomUUIDv7 } from 'node:crypto';
import { lowestIdAt } from '../../src/database/common/ids.ts';
import type { FreshInstallation } from './installation.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns functions that store single rows of an own database, without the statements of the product. Columns that are not
 * given have the defaults of a plain row. All return the id of the row; `event` returns its `seq`.
 */
export function storedRows(fresh: FreshInstallation) {
  const begun = new Date();
  let stored = 0;
  /** Returns an id behind all earlier ones. */
  const nextId = () => idAt(begun, (stored += 1));

  /** Runs a statement and returns its rows, with times as `Date`. */
  async function execute<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const found = await fresh.database.em.fork().execute<object[]>(text, [...values]);
    return found.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, withTime(value)])),
    ) as Row[];
  }

  async function insert(table: string, values: Values): Promise<void> {
    const columns = Object.keys(values).map((name) => `"${name}"`);
    const places = columns.map(() => '?');
    await execute(
      `insert into ${table} (${columns.join()}) values (${places.join()})`,
      Object.values(values),
    );
  }

  async function insertWithId(table: string, values: Values & { id: string }): Promise<string> {
    await insert(table, values);
    return values.id;
  }

  return {
    execute,
    insert,

    /** Stores a webhook of the installation's workspace. */
    async webhook(values: Values = {}): Promise<string> {
      return await insertWithId('webhooks', {
        id: nextId(),
        workspace_id: fresh.installation.workspace_id,
        name: 'A webhook',
        url: 'https://receiver.example.com/',
        events: '[]',
        created_by: 'key:test',
        created_at: new Date(),
        updated_at: new Date(),
        ...values,
      });
    },

    async group(values: Values = {}): Promise<string> {
      return await insertWithId('event_groups', { id: nextId(), created_at: new Date(), ...values });
    },

    async event(values: Values = {}): Promise<number> {
      const id = nextId();
      await insert('events', {
        workspace_id: fresh.installation.workspace_id,
        id,
        event: 'issue.created',
        timestamp: new Date(),
        content_hash: Buffer.from('a hash'),
        body: '{}',
        words: '',
        received_at: new Date(),
        ...values,
      });
      const [row] = await execute<{ seq: string }>('select max(seq) as seq from events where id = ?', [
        values['id'] ?? id,
      ]);
      return Number(row?.seq);
    },

    /** Stores a delivery of an event that need not exist. */
    async delivery(webhookId: string, values: Values = {}): Promise<string> {
      return await insertWithId('deliveries', {
        id: nextId(),
        workspace_id: fresh.installation.workspace_id,
        webhook_id: webhookId,
        event_seq: 1,
        event_id: 'evt_1',
        event: 'issue.created',
        status: 'pending',
        created_at: new Date(),
        updated_at: new Date(),
        ...values,
      });
    },

    async attempt(deliveryId: string, values: Values = {}): Promise<void> {
      await insert('delivery_attempts', {
        delivery_id: deliveryId,
        number: 1,
        trigger: 'automatic',
        attempted_at: new Date(),
        url: 'https://receiver.example.com/',
        request_headers: '{}',
        timings: '{}',
        ...values,
      });
    },

    async run(values: Values = {}): Promise<string> {
      const { workspace_id, project_id } = fresh.installation;
      return await insertWithId('task_runs', {
        id: nextId(),
        workspace_id,
        project_id,
        created_by: 'key:test',
        title: 'A task',
        task_type: 'chore',
        callback_secret: '',
        created_at: new Date(),
        updated_at: new Date(),
        ...values,
      });
    },

    async taskEvent(executionId: string, seq: number, values: Values = {}): Promise<void> {
      const event = { type: 'state.changed', at: new Date(), data: '{}' };
      await insert('task_events', { execution_id: executionId, seq, key: `key-${seq}`, ...event, ...values });
    },

    /** Stores another workspace with a project and a user who owns it. Returns their ids. */
    async workspace(): Promise<{ workspaceId: string; projectId: string; userId: string }> {
      const [workspaceId, projectId, userId] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];
      const created_at = new Date();
      await insert('workspaces', { id: workspaceId, name: 'Other', created_at });
      const project = { id: projectId, workspace_id: workspaceId, key: 'other', name: 'Other' };
      await insert('projects', { ...project, created_at });
      await insert('users', { id: userId, email: `${userId}@example.com`, name: 'Other', created_at });
      await insert('members', { workspace_id: workspaceId, user_id: userId, role: 'owner', created_at });
      return { workspaceId, projectId, userId };
    },

    /** Removes all webhooks, events and runs with their rows. */
    async clear(): Promise<void> {
      await execute(
        'truncate webhooks, delivery_attempts, event_groups, events, task_runs, notifications, audit_log cascade',
      );
    },
  };
}

function withTime(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const [, date, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/.exec(value) ?? [];
  return date && time ? new Date(`${date}T${time}Z`) : value;
}

/** Returns the `number`th id of rows of this time. Higher numbers are behind lower ones. */
export function idAt(time: Date, number = 1): string {
  return `${lowestIdAt(time).slice(0, -12)}${number.toString(16).padStart(12, '0')}`;
}
