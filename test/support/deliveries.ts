import { createHash, randomUUID, randomUUIDv7 } from 'node:crypto';
import type { InferEntity } from '@mikro-orm/core';
import { pino } from 'pino';
import { readConfiguration, type Configuration } from '../../src/runtime/configuration.ts';
import { createWorkspace, type Installation } from '../../src/runtime/installation.ts';
import { Delivery, DeliveryAttempt, Webhook } from '../../src/database/webhooks/entities.ts';
import { Notification } from '../../src/database/people/entities.ts';
import { requestManualRetry } from '../../src/database/webhooks/manual-retries.ts';
import { payloadText } from '../../src/domain/webhooks/event-payload.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import type { EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import type { Subscription } from '../../src/domain/webhooks/webhook.ts';
import { createSealing, webhookSecretContext } from '../../src/security/sealing.ts';
import { createDeliveryControl, type DeliveryControl } from '../../src/temporal/delivery-control.ts';
import type { Running } from '../../src/runtime/process.ts';
import { startDeliveryWorker } from '../../workers/delivery-worker.ts';
import { connectTemporal, type Engine } from '../../src/runtime/temporal.ts';
import { useFixture } from './fixture.ts';
import { freshInstallation } from './installation.ts';
import { useRuntime } from './runs.ts';
import { services } from './services.ts';
import { settingsOn } from './settings.ts';
import { sharedInLane } from './shared.ts';
import { endWorkspace } from './world.ts';

/** The fields of a webhook in a test. */
export type WebhookPlan = {
  url: string;
  events?: Subscription[];
  secret?: string | null;
  previousSecret?: string;
  previousSecretUntil?: Date;
  includeSecretHeader?: boolean;
  standardWebhooks?: boolean;
  active?: boolean;
  workspaceId?: string;
};

export type EventPlan = { id?: string; event?: EventKind; data?: string; timestamp?: Date };

/** Deliveries on real services, without the HTTP API: a database, a workspace, workers in this process, Temporal. */
export type Deliveries = ReturnType<typeof deliveriesIn>;

/** Registers hooks that give the tests of a `describe` a separate workspace with the lane's worker. */
export function useDeliveries(): Deliveries {
  return useFixture(async () => {
    const service = await sharedDeliveryService();
    const installation = await createWorkspace(service.database.em.fork(), {
      workspaceName: 'Test',
      projectName: 'Test',
      adminEmail: `admin-${randomUUID()}@example.com`,
    });
    return deliveriesIn(service, installation, () =>
      endWorkspace(service.database, installation.workspace_id),
    );
  });
}

/** Registers hooks that start a database and workers for the tests of a `describe`, and close them. */
export function useOwnDeliveries(options?: DeliveriesOptions): Deliveries {
  return useFixture(() => startDeliveries(options));
}

type DeliveriesOptions = {
  engine?: Engine & { time: () => Promise<number> };
  workers?: number;
  environment?: Record<string, string>;
};

/** Starts a database and workers. `engine`: another Temporal than that of the tests, for example one that skips time. */
export async function startDeliveries(options: DeliveriesOptions = {}): Promise<Deliveries> {
  const service = await startDeliveryService(options);
  return deliveriesIn(service, service.installation, service.close);
}

type DeliveryService = Awaited<ReturnType<typeof startDeliveryService>>;

/** One worker for all tests of a lane without separate settings. */
const sharedDeliveryService = sharedInLane(
  () => startDeliveryService({}),
  (service) => service.close(),
);

async function startDeliveryService(options: DeliveriesOptions) {
  const { url, database, installation, close } = await freshInstallation();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
  useRuntime(log);
  const configuration: Configuration = readConfiguration({
    ...settingsOn(url),
    ...options.environment,
  });
  const engine = options.engine ?? (await connectTemporal());
  const begin = () => startDeliveryWorker(configuration, log, options.engine);
  let workers: Running[] = await Promise.all(Array.from({ length: options.workers ?? 1 }, begin));
  return {
    database,
    configuration,
    installation,
    client: engine.client,
    lines,
    async restartWorkers(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.close()));
      workers = await Promise.all(workers.map(begin));
    },
    async close(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.close()));
      if (!options.engine) await engine.connection.close();
      await close();
    },
  };
}

function deliveriesIn(service: DeliveryService, installation: Installation, close: () => Promise<void>) {
  const { database, configuration, client, lines, restartWorkers } = service;
  const firstLine = lines.length;
  const control: DeliveryControl = createDeliveryControl({ client, taskQueue: configuration.taskQueue });
  const sealing = createSealing(configuration.sealingKeys);
  const em = () => database.em.fork();

  async function store(events: EventPlan[], workspaceId = installation.workspace_id) {
    const groupId = randomUUIDv7();
    const now = new Date();
    await em().execute('insert into event_groups (id, created_at) values (?, ?)', [groupId, now]);
    const bodies: string[] = [];
    for (const plan of events) {
      const { event = 'issue.created', id = `evt_${randomUUID()}`, timestamp = now } = plan;
      const data = plan.data ?? JSON.stringify(sampleData(event));
      const body = payloadText({
        id,
        event,
        timestamp: timestamp.toISOString(),
        workspace: { id: workspaceId, name: 'Test' },
        data,
      });
      bodies.push(body);
      await em().execute(
        `insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, received_at)
         values (?, ?, ?, ?, ?, ?, ?, ?)`,
        [workspaceId, id, groupId, event, timestamp, createHash('sha256').update(body).digest(), body, now],
      );
    }
    return { groupId, bodies };
  }

  return {
    database,
    configuration,
    installation,
    client,
    control,
    restartWorkers,
    close,
    /** Returns the log of the workers since these deliveries were opened. */
    logged: () => lines.slice(firstLine).join(''),

    async webhook(plan: WebhookPlan): Promise<string> {
      const id = randomUUIDv7();
      const seal = (secret: string | null | undefined) =>
        typeof secret === 'string' ? sealing.seal(secret, webhookSecretContext(id)) : null;
      await em().insert(Webhook, {
        id,
        workspace_id: plan.workspaceId ?? installation.workspace_id,
        name: 'A webhook',
        url: plan.url,
        events: plan.events ?? [{ event: 'issue.created', filters: [] }],
        secret: seal(plan.secret),
        previous_secret: seal(plan.previousSecret),
        previous_secret_until: plan.previousSecretUntil ?? null,
        include_secret_header: plan.includeSecretHeader ?? false,
        standard_webhooks: plan.standardWebhooks ?? false,
        active: plan.active ?? true,
        consecutive_failures: 0,
        enabled_count: 0,
        disabled_at: null,
        disabled_reason: null,
        created_by: 'test',
        created_at: new Date(),
        updated_at: new Date(),
        deleted_at: null,
      });
      return id;
    },

    /** Stores events as one group. Returns its id, and the payloads. */
    store,

    /** Stores events as one group and dispatches it. Returns their payloads. */
    async publish(events: EventPlan[], workspaceId?: string): Promise<string[]> {
      const { groupId, bodies } = await store(events, workspaceId);
      await control.dispatch([groupId]);
      return bodies;
    },

    /** Stores a manual retry, as the API does before it starts it. Returns its token. */
    async requestRetry({
      id: deliveryId,
      webhook_id: webhookId,
      attempts_count: attempts,
    }: Pick<InferEntity<typeof Delivery>, 'id' | 'webhook_id' | 'attempts_count'>): Promise<string> {
      const token = randomUUIDv7();
      await requestManualRetry(database, { deliveryId, token, attempts }, webhookId, {
        workspaceId: installation.workspace_id,
        actor: 'test',
        action: 'delivery.retried',
        subject: `delivery:${deliveryId}`,
        at: new Date(),
      });
      return token;
    },

    deliveries: (webhookId: string) =>
      em().find(Delivery, { webhook_id: webhookId }, { orderBy: { event_seq: 'asc' } }),
    attempts: (deliveryId: string) =>
      em().find(DeliveryAttempt, { delivery_id: deliveryId }, { orderBy: { number: 'asc' } }),
    webhookRow: (id: string) => em().findOneOrFail(Webhook, { id }),
    changeWebhook: (id: string, change: Record<string, unknown>) =>
      em().nativeUpdate(Webhook, { id }, change),
    notices: () => em().find(Notification, { workspace_id: installation.workspace_id }),
  };
}
