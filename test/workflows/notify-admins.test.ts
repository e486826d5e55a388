import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { MockActivityEnvironment, type TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createNotifyActivities } from '../../src/activities/notify-admins.ts';
import type { Database } from '../../src/database/database.ts';
import { Member, Notification, User } from '../../src/database/people/entities.ts';
import { TaskRun } from '../../src/database/tasks/entities.ts';
import type { Installation } from '../../src/runtime/installation.ts';
import { createMailer, type Mail, type Mailer } from '../../src/mail/mailer.ts';
import { createDeliveryControl } from '../../src/temporal/delivery-control.ts';
import { notifyWorkflowId, type NotifyInput } from '../../src/temporal/delivery-messages.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { readConfiguration } from '../../src/runtime/configuration.ts';
import { openMaintenance } from '../../src/runtime/maintenance.ts';
import { freshInstallation, type FreshInstallation } from '../support/installation.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { eventually } from '../support/eventually.ts';
import { settingsOn } from '../support/settings.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';

const BASE_URL = 'https://baton.example.com';
const OWNER = 'owner@example.com';
const ADMINS = ['ann@example.com', 'bob@example.com'];

/** Uses a real database and mail server, and a Temporal server that skips time. */
describe('the admins of a disabled webhook', function () {
  let environment: TestWorkflowEnvironment;
  let fresh: FreshInstallation;
  let database: Database;
  let installation: Installation;
  let server: MailServer;
  let mailer: Mailer;
  const people = new Map<string, string>();

  before(async () => {
    environment = await startTimeSkipping();
    fresh = await freshInstallation({ workspaceName: 'Acme', adminEmail: OWNER });
    ({ database, installation } = fresh);
    for (const email of ADMINS) await join(email);
    const owner = await database.em.fork().findOneOrFail(User, { email: OWNER });
    people.set(OWNER, owner.id);
  });
  after(async () => {
    await environment.teardown();
    await fresh.close();
  });
  beforeEach(async () => {
    server = await startMailServer();
    mailer = mailerTo(server.port);
  });
  afterEach(async () => {
    mailer.close();
    await server.close();
  });

  const mailerTo = (port: number) =>
    createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from: 'Baton <baton@example.com>' });

  async function join(email: string): Promise<void> {
    const id = randomUUIDv7();
    const [em, at] = [database.em.fork(), new Date()];
    await em.insert(User, {
      id,
      email,
      name: email.split('@')[0] ?? '',
      created_at: at,
      password_hash: null,
    });
    const { workspace_id } = installation;
    await em.insert(Member, { workspace_id, user_id: id, role: 'admin', created_at: at });
    people.set(email, id);
  }

  /** Stores the notifications of a disabled webhook for each of its admins. */
  async function disable(): Promise<{ webhookId: string; disabledAt: Date }> {
    const webhookId = randomUUIDv7();
    const disabledAt = new Date();
    const em = database.em.fork();
    for (const userId of people.values()) {
      await em.insert(Notification, {
        id: randomUUIDv7(),
        workspace_id: installation.workspace_id,
        user_id: userId,
        kind: 'webhook.disabled',
        subject: `webhook:${webhookId}`,
        detail: {
          webhook_id: webhookId,
          name: 'Orders',
          failures: 10,
          reason: '10 attempts in a row failed. Last failure: The response has status 500',
          disabled_at: disabledAt.toISOString(),
        },
        created_at: disabledAt,
        read_at: null,
        emailed_at: null,
      });
    }
    return { webhookId, disabledAt };
  }

  /** Sends the e-mails with a separate worker, `times` times, and returns the result. */
  async function notify(
    disabling: { webhookId: string; disabledAt: Date },
    times = 1,
    to: Mailer | null = mailer,
  ) {
    const taskQueue = `notify-${randomUUIDv7()}`;
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue: taskQueues(taskQueue).deliveries,
      workflowBundle: await workflowBundle(Runtime.instance().logger),
      activities: createNotifyActivities({ database, mailer: to, baseUrl: BASE_URL }),
    });
    const control = createDeliveryControl({ client: environment.client, taskQueue });
    const { webhookId, disabledAt } = disabling;
    return await worker.runUntil(async () => {
      for (let time = 0; time < times; time += 1)
        await control.notify({ webhookId, disabledAt: disabledAt.toISOString() });
      return (await handleOf(disabling).result()) as unknown;
    });
  }

  function handleOf({ webhookId, disabledAt }: { webhookId: string; disabledAt: Date }) {
    const id = notifyWorkflowId({ webhookId, disabledAt: disabledAt.toISOString() });
    return environment.client.workflow.getHandle(id);
  }

  const mailed = () => server.mails.flatMap(({ to }) => to).toSorted();
  const unmailed = async (webhookId: string) =>
    await database.em.fork().count(Notification, { subject: `webhook:${webhookId}`, emailed_at: null });

  it('get one e-mail each, with the reason and a link', async () => {
    const disabling = await disable();
    assert.deepEqual(await notify(disabling, 3), { mailed: 3 });
    assert.deepEqual(mailed(), [OWNER, ...ADMINS].toSorted());
    assert.equal(await unmailed(disabling.webhookId), 0);
    const [mail] = server.mails;
    assert.equal(mail?.header('Subject'), 'Webhook Orders was disabled');
    assert.match(
      mail?.text ?? '',
      /10 attempts in a row failed. Last failure: The response has status 500\./,
    );
    assert.ok(mail?.text.includes(`${BASE_URL}/settings/integrations/webhooks/${disabling.webhookId}\n`));
    assert.match(mail?.text ?? '', /workspace "Acme"/);
    const ids = new Set(server.mails.map((message) => message.header('Message-ID')));
    assert.equal(ids.size, 3);
  });

  it('get it from the configured mail server, with the public address of the installation', async () => {
    const configuration = readConfiguration({
      ...settingsOn(fresh.url),
      BASE_URL,
      SMTP_URL: `smtp://127.0.0.1:${server.port}`,
      MAIL_FROM: 'Baton <own@example.com>',
    });
    await using closing = new AsyncDisposableStack();
    const { mailNotices } = await openMaintenance(closing, { configuration, database });
    const { webhookId, disabledAt } = await disable();
    const input = { webhookId, disabledAt: disabledAt.toISOString() };
    assert.deepEqual(await new MockActivityEnvironment().run(mailNotices, input), { mailed: 3 });
    const [mail] = server.mails;
    assert.match(mail?.header('From') ?? '', /own@example\.com/);
    assert.ok(mail?.text.includes(`${BASE_URL}/settings/integrations/webhooks/${webhookId}\n`));
  });

  it('get an e-mail about an open question of an agent, and none about an answered one', async () => {
    const executionId = await quietRun(database, installation);
    const askedAt = new Date();
    const question = { id: '2', step: 'deploy', agent: 'developer', text: 'Now?', at: askedAt.toISOString() };
    const ask = async (id: string) =>
      await database.em
        .fork()
        .nativeUpdate(
          TaskRun,
          { id: executionId },
          { state: 'paused', paused_from: 'executing', question: { ...question, id } },
        );
    await database.em.fork().insert(Notification, {
      id: randomUUIDv7(),
      workspace_id: installation.workspace_id,
      user_id: people.get(OWNER) ?? '',
      kind: 'task.asked',
      subject: `task:${executionId}`,
      detail: { ...question, title: 'Ship it', project: 'First', question: question.text, question_id: '2' },
      created_at: askedAt,
      read_at: null,
      emailed_at: null,
    });
    const { mailNotices } = createNotifyActivities({ database, mailer, baseUrl: BASE_URL });
    const input = { executionId, askedAt: askedAt.toISOString() };
    await ask('3');
    assert.deepEqual(await new MockActivityEnvironment().run(mailNotices, input), { mailed: 0 });
    await ask('2');
    assert.deepEqual(await new MockActivityEnvironment().run(mailNotices, input), { mailed: 1 });
    const [mail] = server.mails;
    assert.equal(mail?.header('Subject'), 'Task Ship it waits for your answer');
    assert.match(mail?.text ?? '', /developer asked in the step deploy:\n\nNow\?\n/);
    assert.ok(mail?.text.includes(`${BASE_URL}/orchestration/${executionId}\n`));
  });

  it('get an e-mail about an escalated run, as do all members who may take it over', async () => {
    const [executionId, escalatedAt] = [randomUUIDv7(), new Date()];
    const bob = { user_id: people.get('bob@example.com') ?? '' };
    const ann = { user_id: people.get('ann@example.com') ?? '' };
    await database.em.fork().nativeUpdate(Member, bob, { role: 'member' });
    await database.em.fork().nativeUpdate(Member, ann, { role: 'viewer' });
    for (const userId of people.values()) {
      await database.em.fork().insert(Notification, {
        id: randomUUIDv7(),
        workspace_id: installation.workspace_id,
        user_id: userId,
        kind: 'task.escalated',
        subject: `task:${executionId}`,
        detail: {
          title: 'Ship it',
          project: 'First',
          reason: 'Who may\nsign?',
          step: 'deploy',
          agent: 'developer',
        },
        created_at: escalatedAt,
        read_at: null,
        emailed_at: null,
      });
    }
    const { mailNotices } = createNotifyActivities({ database, mailer, baseUrl: BASE_URL });
    const input = { executionId, escalatedAt: escalatedAt.toISOString() };
    assert.deepEqual(await new MockActivityEnvironment().run(mailNotices, input), { mailed: 2 });
    assert.deepEqual(mailed(), [OWNER, 'bob@example.com'].toSorted());
    const [mail] = server.mails;
    assert.equal(mail?.header('Subject'), 'Task Ship it needs your decision');
    assert.match(mail?.text ?? '', /developer escalated it in the step deploy:\n\nWho may sign\?\n/);
    assert.ok(mail?.text.includes(`${BASE_URL}/orchestration/${executionId}\n`));
    for (const member of [ann, bob]) await database.em.fork().nativeUpdate(Member, member, { role: 'admin' });
  });

  it('get their e-mails two at a time, so that a slow mail server does not occupy the database connections', async () => {
    const goOn = Promise.withResolvers<void>();
    let [sending, most] = [0, 0];
    const slow: Mailer = {
      send: async () => {
        sending += 1;
        most = Math.max(most, sending);
        await goOn.promise;
        sending -= 1;
      },
      close: () => {},
    };
    const { mailNotices } = createNotifyActivities({ database, mailer: slow, baseUrl: BASE_URL });
    const runs = [];
    for (let index = 0; index < 12; index += 1) {
      const [executionId, escalatedAt] = [randomUUIDv7(), new Date()];
      await database.em.fork().insert(Notification, {
        id: randomUUIDv7(),
        workspace_id: installation.workspace_id,
        user_id: people.get(OWNER) ?? '',
        kind: 'task.escalated',
        subject: `task:${executionId}`,
        detail: {},
        created_at: escalatedAt,
      });
      const input = { executionId, escalatedAt: escalatedAt.toISOString() };
      runs.push(new MockActivityEnvironment().run(mailNotices, input));
    }
    await eventually('two are sent', () => sending === 2);
    for (let read = 0; read < 3; read += 1) await database.em.fork().count(Notification);
    assert.equal(most, 2);
    goOn.resolve();
    assert.deepEqual(
      await Promise.all(runs),
      runs.map(() => ({ mailed: 1 })),
    );
    assert.equal(most, 2);
  });

  it('get an e-mail with what is known if the notification lacks details', async () => {
    const sent: Mail[] = [];
    const failing = new Set<string>();
    const keeping: Mailer = {
      send: async (mail) => {
        if (failing.has(mail.to)) throw new Error(`no ${mail.to.split('@')[0]}`);
        sent.push(mail);
      },
      close: () => {},
    };
    const clock = () => new Date('2090-01-01T00:00:00.000Z');
    const { mailNotices } = createNotifyActivities({ database, mailer: keeping, baseUrl: BASE_URL, clock });
    const about = async (kind: string, subject: string, emails: string[]) => {
      const notice = { workspace_id: installation.workspace_id, kind, subject, detail: { name: 5 } };
      const at = new Date();
      for (const email of emails)
        await database.em.fork().insert(Notification, {
          ...notice,
          id: randomUUIDv7(),
          user_id: people.get(email) ?? '',
          created_at: at,
        });
      return at.toISOString();
    };
    const id = randomUUIDv7();
    const disabledAt = await about('webhook.disabled', `webhook:${id}`, [OWNER, ...ADMINS]);
    const run = (input: NotifyInput) =>
      new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(mailNotices, input);
    failing.add('ann@example.com').add('bob@example.com');
    await assert.rejects(run({ webhookId: id, disabledAt }), {
      message: /^2 mails failed, 1 were sent; first failure: no (ann|bob)$/,
    });
    failing.clear();
    assert.deepEqual(await run({ webhookId: id, disabledAt }), { mailed: 2 });
    const rows = await database.em.fork().find(Notification, { subject: `webhook:${id}` });
    for (const { emailed_at: at } of rows) assert.deepEqual(at, clock());
    for (const mail of sent) {
      const to = [...people].find(([, userId]) =>
        rows.some((row) => row.id === mail.id && row.user_id === userId),
      );
      assert.equal(mail.to, to?.[0]);
      assert.equal(mail.subject, `Webhook ${id} was disabled`);
      assert.match(mail.text, /\nReason: too many attempts in a row failed\.\n/);
    }
    sent.length = 0;
    const escalatedAt = await about('task.escalated', `task:${id}`, [OWNER]);
    assert.deepEqual(await run({ executionId: id, escalatedAt }), { mailed: 1 });
    assert.equal(sent[0]?.subject, `Task ${id} needs your decision`);
    assert.match(sent[0]?.text ?? '', /of the project "" needs your decision\. .+ an agent escalated it:/);
  });

  it('get another e-mail if the same webhook is disabled again', async () => {
    const first = await disable();
    await notify(first);
    const second = { ...first, disabledAt: new Date(first.disabledAt.getTime() + 60_000) };
    await database.em
      .fork()
      .nativeUpdate(
        Notification,
        { subject: `webhook:${first.webhookId}` },
        { created_at: second.disabledAt, emailed_at: null },
      );
    assert.deepEqual(await notify(second), { mailed: 3 });
    assert.equal(server.mails.length, 6);
  });

  it('get their e-mails although one was rejected, and that one is retried', async () => {
    const disabling = await disable();
    server.refusing(['ann@example.com'], 451);
    const outcome = notify(disabling);
    await server.receives(2);
    server.takingAll();
    await outcome;
    assert.deepEqual(mailed(), [OWNER, ...ADMINS].toSorted());
  });

  it('get their e-mails after the mail server was unavailable for hours', async () => {
    const disabling = await disable();
    const { port } = server;
    await server.close();
    const before = await environment.currentTimeMs();
    const outcome = notify(disabling);
    await eventually(
      'five hours have passed',
      async () => (await environment.currentTimeMs()) - before >= 5 * 3_600_000,
    );
    server = await startMailServer({ port });
    await outcome;
    assert.deepEqual(mailed(), [OWNER, ...ADMINS].toSorted());
  });

  it('keep the notification in the web interface if the mail server is unavailable for a day', async () => {
    const disabling = await disable();
    await server.close();
    await assert.rejects(notify(disabling));
    const { startTime, closeTime, status } = await handleOf(disabling).describe();
    const hours = ((closeTime?.getTime() ?? 0) - startTime.getTime()) / 3_600_000;
    assert.ok(hours > 20 && hours < 25, `${hours} h`);
    assert.equal(status.name, 'FAILED');
    assert.equal(await unmailed(disabling.webhookId), 3);
    server = await startMailServer();
  });

  it('get no e-mail without a configured mail server', async () => {
    const disabling = await disable();
    assert.deepEqual(await notify(disabling, 1, null), { mailed: 0 });
    assert.equal(await unmailed(disabling.webhookId), 3);
  });

  it('get no e-mail if they are no longer admins', async () => {
    const disabling = await disable();
    const bob = { user_id: people.get('bob@example.com') ?? '' };
    await database.em.fork().nativeUpdate(Member, bob, { role: 'viewer' });
    assert.deepEqual(await notify(disabling), { mailed: 2 });
    assert.deepEqual(mailed(), [OWNER, 'ann@example.com'].toSorted());
    await database.em.fork().nativeUpdate(Member, bob, { role: 'admin' });
  });

  it('get one e-mail each from two workers at the same time', async () => {
    const { webhookId, disabledAt } = await disable();
    const { mailNotices } = createNotifyActivities({ database, mailer, baseUrl: BASE_URL });
    const input = { webhookId, disabledAt: disabledAt.toISOString() };
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => new MockActivityEnvironment().run(mailNotices, input)),
    );
    assert.equal(
      (outcomes as { mailed: number }[]).reduce((sum, outcome) => sum + outcome.mailed, 0),
      3,
    );
    assert.deepEqual(mailed(), [OWNER, ...ADMINS].toSorted());
  });
});
