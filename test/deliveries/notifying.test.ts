import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { Member, Notification, User } from '../../src/database/people/entities.ts';
import { startUnsentNotices } from '../../src/reconciler/forgotten-deliveries.ts';
import { RowsFailed } from '../../src/reconciler/rows.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { notifyWorkflowId, type NotifyInput } from '../../src/temporal/delivery-messages.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';

const ADMINS = ['admin@example.com', 'ann@example.com', 'bob@example.com'];

describe('the disabling of a webhook', function () {
  let world: Deliveries;
  let server: MailServer;
  let receiver: Receiver;
  before(async () => {
    server = await startMailServer();
    world = await startDeliveries({
      workers: 3,
      environment: {
        SMTP_URL: `smtp://127.0.0.1:${server.port}`,
        MAIL_FROM: 'Baton <baton@example.com>',
        BASE_URL: 'https://baton.example.com',
      },
    });
    for (const email of ADMINS.slice(1)) await join(email, 'admin');
    await join('viewer@example.com', 'viewer');
    receiver = await startReceiver();
    receiver.answering(503);
  });
  after(async () => {
    await receiver.close();
    await world.close();
    await server.close();
  });

  async function join(email: string, role: 'admin' | 'viewer'): Promise<void> {
    const [id, at, em] = [randomUUIDv7(), new Date(), world.database.em.fork()];
    await em.insert(User, { id, email, name: email, created_at: at, password_hash: null });
    const { workspace_id } = world.installation;
    await em.insert(Member, { workspace_id, user_id: id, role, created_at: at });
  }

  async function disable(): Promise<string> {
    const webhookId = await world.webhook({ url: receiver.url });
    await Promise.all(Array.from({ length: 10 }, () => world.publish([{}, {}])));
    await eventually('disabled', async () => (await world.webhookRow(webhookId)).disabled_at !== null);
    return webhookId;
  }

  /** Waits until the workflow that sends the e-mails has ended: nothing else sends any. */
  const mailed = async (webhookId: string, at: Date | null | undefined): Promise<void> => {
    const id = notifyWorkflowId({ webhookId, disabledAt: at?.toISOString() ?? '' });
    await world.client.workflow.getHandle(id).result();
  };

  it('notifies every admin once, in the web interface and by e-mail, and no other member', async () => {
    const webhookId = await disable();
    const { disabled_at: at } = await world.webhookRow(webhookId);
    await server.receives(ADMINS.length);
    await mailed(webhookId, at);
    assert.deepEqual(server.mails.flatMap(({ to }) => to).toSorted(), ADMINS);
    const notices = await eventually('the e-mails are recorded', async () => {
      const rows = (await world.notices()).filter(({ subject }) => subject === `webhook:${webhookId}`);
      return rows.every((row) => row.emailed_at !== null) && rows;
    });
    assert.equal(notices.length, ADMINS.length);
    assert.match(server.mails[0]?.text ?? '', /10 attempts in a row failed. Last failure: .*503/);
    assert.ok(
      server.mails[0]?.text.includes(
        `https://baton.example.com/settings/integrations/webhooks/${webhookId}\n`,
      ),
    );
  });

  it('is e-mailed by the reconciler, once Temporal is available, if the worker died before it could send the e-mails', async () => {
    const [webhookId, at] = [randomUUIDv7(), new Date()];
    const em = world.database.em.fork();
    const admin = await em.findOneOrFail(User, { email: ADMINS[0] ?? '' });
    await em.insert(Notification, {
      id: randomUUIDv7(),
      workspace_id: world.installation.workspace_id,
      user_id: admin.id,
      kind: 'webhook.disabled',
      subject: `webhook:${webhookId}`,
      detail: { name: 'Forgotten', reason: '10 attempts in a row failed' },
      created_at: at,
      read_at: null,
      emailed_at: null,
      mail_started_at: null,
    });
    const before = server.mails.length;
    const { database, control } = world;
    let starts = 0;
    let isUnavailable = true;
    const deliveryControl = {
      ...control,
      async notify(input: NotifyInput) {
        if (!('webhookId' in input && input.webhookId === webhookId)) return await control.notify(input);
        if (isUnavailable) throw new EngineUnavailable('no connection');
        starts += 1;
        await control.notify(input);
      },
    };
    const dependencies = { database, deliveryControl, log: pino({ level: 'silent' }) };
    const turn = (later: number) =>
      startUnsentNotices({ ...dependencies, clock: () => new Date(at.getTime() + later) });
    await turn(1_000);
    assert.equal(server.mails.length, before, 'the worker may still be sending');
    await assert.rejects(turn(5_000), RowsFailed);
    isUnavailable = false;
    await turn(6_000);
    await server.receives(before + 1);
    await turn(7_000);
    await mailed(webhookId, at);
    assert.equal(server.mails.length, before + 1);
    assert.equal(server.mails.at(-1)?.header('Subject'), 'Webhook Forgotten was disabled');
    assert.equal(starts, 1, 'the next turns know that the mails were started');
  });
});
