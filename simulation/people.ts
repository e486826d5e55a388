import type { Starter } from '../src/api/starter.ts';
import type { GroupToStart } from '../src/api/events/group-starter.ts';
import { payloadText } from '../src/domain/webhooks/event-payload.ts';
import type { DeliveryControl } from '../src/temporal/delivery-control.ts';
import { EngineUncertain } from '../src/temporal/task-control.ts';
import type { MemoryStore } from './store/memory-store.ts';
import type { Tables } from './store/tables.ts';
import type { Clock } from './world/clock.ts';

type Dependencies = {
  clock: Clock;
  tables: Tables;
  store: MemoryStore;
  control: DeliveryControl;
  newId: (what: string) => string;
  trace: (line: string) => void;
};

/** Callers and users: what they request of the API, and what it stores for them. */
export function createPeople({ clock, tables, store, control, newId, trace }: Dependencies) {
  const webhookIds: string[] = [];
  const workspaces = new Map<number, string>();
  let seq = 0;

  const workspaceAt = (index: number): string => {
    const id = workspaces.get(index) ?? newId('workspace');
    workspaces.set(index, id);
    return id;
  };

  return {
    webhookAt: (index: number): string => webhookIds[index % webhookIds.length] ?? '',

    createWebhook(index: number, workspace: number): string {
      const id = newId(`webhook ${index}`);
      webhookIds.push(id);
      tables.webhooks.set(id, {
        id,
        workspace_id: workspaceAt(workspace),
        url: `https://${id}/`,
        events: [{ event: 'issue.created', filters: [] }],
        secret: null,
        previous_secret: null,
        previous_secret_until: null,
        include_secret_header: false,
        standard_webhooks: false,
        active: true,
        consecutive_failures: 0,
        enabled_count: 0,
        disabled_at: null,
        deleted_at: null,
        listening_until: null,
      });
      return id;
    },

    /** Sends events in one request. The API stores them as a group and starts its dispatch. */
    async acceptEvents(workspace: number, count: number, starter: Starter<GroupToStart>): Promise<void> {
      const workspaceId = [...workspaces.values()][workspace % workspaces.size] ?? '';
      const groupId = newId('group');
      const now = new Date();
      const events = Array.from({ length: count }, () => {
        seq += 1;
        const id = `evt_${seq}`;
        const kind = 'issue.created' as const;
        const of = { id, event: kind, timestamp: now.toISOString() };
        const body = payloadText({ ...of, workspace: { id: workspaceId, name: 'Simulated' }, data: '{}' });
        const row = { seq, workspace_id: workspaceId, id, event: kind };
        return { ...row, timestamp: now, received_at: now, body, traceparent: null };
      });
      await store.acceptEvents(groupId, events);
      const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
      starter.add({ id: groupId, events: count, bytes, workspaces: [workspaceId], traceparent: null });
    },

    /** Enables a webhook and restarts the schedules of its held and failed deliveries. */
    async recover(webhookId: string): Promise<void> {
      await store.setActive(webhookId, true);
      const count = await store.recover(webhookId, ['held', 'failed']);
      if (count > 0) await control.drainBacklog(webhookId);
    },

    async deleteWebhook(webhookId: string): Promise<void> {
      await store.deleteWebhook(webhookId);
      await store.holdOrCancelWaiting(webhookId);
    },

    /** Requests a manual retry of a delivery, now or later, if the API accepts it. */
    async retry(index: number, inMs: number | null): Promise<void> {
      const rows = [...tables.deliveries.values()].filter(({ webhook_id: id, status }) => {
        const webhook = tables.webhooks.get(id);
        const isOn = webhook?.active && !webhook.disabled_at && !webhook.deleted_at;
        return isOn && status !== 'pending' && status !== 'cancelled';
      });
      const row = rows[index % Math.max(1, rows.length)];
      if (!row) return;
      const { id: deliveryId, webhook_id: webhookId, attempts_count: attempts } = row;
      trace(`a retry of ${deliveryId} is requested`);
      const retry = { deliveryId, token: newId('retry'), attempts };
      if (inMs === null) {
        await store.requestManualRetry(retry, webhookId);
        return await control.makeManualRetries(webhookId);
      }
      await store.scheduleRetry({ ...retry, at: new Date(clock.now() + inMs) });
      await startTwice(() => control.attempt({ ...retry, trigger: 'manual', scheduled: true }, inMs));
    },
  };
}

/** Starts an attempt. Tries again if the outcome is uncertain, as the API does. */
async function startTwice(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof EngineUncertain)) throw error;
    await start();
  }
}
