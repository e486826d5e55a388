import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { PASSWORD, startWorld, type Sent, type World } from '../support/world.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { steerRun } from '../support/steer-run.ts';
import { eventually } from '../support/eventually.ts';
import { withHistory } from './webhook-history.ts';

/** A workspace with data for every screen. */
export type PopulatedWorkspace = {
  world: World;
  /** Ended runs by their state, and runs that wait for a person. */
  runs: Readonly<Record<'completed' | 'failed' | 'escalated' | 'cancelled' | 'paused' | 'asking', string>>;
  /** The owner's session in a browser. The owner also has one on a phone. */
  cookie: string;
  /** A working webhook, one of its deliveries, and a disabled webhook. */
  webhook: string;
  delivery: string;
  disabledWebhook: string;
  /** The token of an invitation link. */
  invitation: string;
  submit(title: string, rehearsal: object, fields?: object): Promise<string>;
  close(): Promise<void>;
};

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const PHONE =
  'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36';

export async function startPopulatedWorkspace(
  environment: Record<string, string> = {},
): Promise<PopulatedWorkspace> {
  const receiver = await startReceiver();
  const world = await startWorld({
    deliveryWorker: true,
    environment: {
      SIGN_INS_PER_MINUTE: '1000',
      SOURCE_ADDRESSES: '203.0.113.7,2001:db8::7',
      TEMPORAL_UI_URL: 'http://localhost:8233',
      ...environment,
    },
  });
  await giveNames(world);
  await signInFrom(world, PHONE);
  const cookie = await signInFrom(world, BROWSER);
  const owner = world.as(cookie);
  const make = async (path: string, body: object) => {
    const received = await world.send('POST', path, { ...owner, body });
    assert.equal(received.status, 201, received.text);
    return received.json;
  };
  const submit: PopulatedWorkspace['submit'] = async (title, rehearsal, fields = {}) => {
    const body = { title, project_id: world.installation.project_id, metadata: { rehearsal }, ...fields };
    return (await make('/api/v1/tasks', body)).execution_id;
  };
  const [runs, invitation, webhooks] = await Promise.all([
    startRuns(world, owner, submit),
    invitePeople(world, owner, make),
    addWebhooks(world, owner, receiver, make),
  ]);
  return {
    world,
    runs,
    cookie,
    submit,
    invitation,
    ...webhooks,
    async close() {
      await world.close();
      await receiver.close();
    },
  };
}

type Make = (path: string, body: object) => Promise<Record<string, string> & { id: string }>;

/** Signs the owner in with a user agent. Returns the cookie. */
async function signInFrom(world: World, browser: string): Promise<string> {
  const body = { email: world.installation.admin_email, password: PASSWORD };
  const sent = { key: null, body, headers: { 'User-Agent': browser } };
  const { headers, text } = await world.send('POST', '/api/v1/session', sent);
  const [cookie] = headers.get('set-cookie')?.split(';') ?? [];
  assert.ok(cookie, text);
  return cookie;
}

async function giveNames(world: World): Promise<void> {
  const database = queryBuilderOf(world.database);
  await sql`update workspaces set name = 'Acme'`.execute(database);
  await sql`update projects set name = 'Web shop', key = 'SHOP'`.execute(database);
  await sql`update users set name = 'Olga'`.execute(database);
}

const DOCUMENT = '# The checkout\n\nThree pages: the address, the payment, the order.\n';

async function startRuns(
  world: World,
  owner: Sent,
  submit: PopulatedWorkspace['submit'],
): Promise<PopulatedWorkspace['runs']> {
  const bug = { task_type: 'bug' };
  const runs = {
    completed: await submit(
      'Describe the checkout',
      {
        artifact: { step: 2, name: 'checkout.md', media_type: 'text/markdown', text: DOCUMENT },
      },
      { task_type: 'spec' },
    ),
    failed: await submit('Round prices the same everywhere', { unrecoverable: { step: 2 } }),
    cancelled: await submit('Try the other payment provider', { step_ms: 60_000 }, bug),
    escalated: await submit('Show prices in the buyer’s currency', {
      escalate: { step: 2, reason: 'Which currencies are we allowed to show?' },
    }),
    paused: await submit('Speed up the search', { step_ms: 60_000, progress_events: 3 }),
    asking: await submit(
      'Orders without an invoice',
      { ask: { step: 2, question: 'May I write to the orders of last year?' } },
      bug,
    ),
  };
  await world.reaches(runs.cancelled, 'executing');
  const cancel = { body: { reason: 'not this quarter' } };
  await steerRun(() => world.send('POST', `/api/v1/tasks/${runs.cancelled}/cancel`, cancel));
  await world.reaches(runs.paused, 'executing');
  const pause = { ...owner, body: { reason: 'the shop is being deployed' } };
  await steerRun(() => world.send('POST', `/api/v1/tasks/${runs.paused}/pause`, pause));
  const states = ['completed', 'failed', 'escalated', 'cancelled', 'paused'] as const;
  await Promise.all([
    ...states.map((state) => world.reaches(runs[state], state)),
    world.reaches(runs.asking, 'paused'),
  ]);
  return runs;
}

/** Invites people. Returns the token of an invitation. */
async function invitePeople(world: World, owner: Sent, make: Make): Promise<string> {
  const { project_id } = world.installation;
  await make('/api/v1/projects', { name: 'Warehouse', key: 'WARE' });
  await make('/api/v1/keys', { name: 'CI', project_id, scopes: ['tasks:read', 'tasks:write'] });
  const { id } = await make('/api/v1/keys', { name: 'Shop backend', project_id, scopes: ['events:write'] });
  await world.send('DELETE', `/api/v1/keys/${id}`, owner);
  for (const [name, role] of [
    ['Ada', 'admin'],
    ['Grace', 'member'],
  ] as const) {
    const email = `${name.toLowerCase()}@example.com`;
    await make('/api/v1/members', { email, name, role, password: PASSWORD });
  }
  const { url = '' } = await make('/api/v1/invitations', { email: 'linus@example.com', role: 'viewer' });
  return new URL(url).hash.slice(1);
}

async function addWebhooks(world: World, owner: Sent, receiver: Receiver, make: Make) {
  const events = [{ event: 'issue.created' }, { event: 'issue.updated' }];
  const { id: webhook } = await make('/api/v1/webhooks', { name: 'Billing sync', url: receiver.url, events });
  await withHistory(world, webhook, [
    { ago: 8, succeeded: 2, failed: 0, tookMs: 40 },
    { ago: 6, succeeded: 1, failed: 2, tookMs: 900 },
    { ago: 1, succeeded: 3, failed: 0, tookMs: 35 },
  ]);
  const test = { ...owner, body: { event: 'issue.created' } };
  await world.send('POST', `/api/v1/webhooks/${webhook}/test`, test);
  const delivery = await eventually('the test is in the log', async () => {
    const { json } = await world.send('GET', `/api/v1/webhooks/${webhook}/deliveries?limit=1`);
    return (json.data[0]?.id as string | undefined) ?? null;
  });
  const url = 'https://crm.acme.example/x';
  const { id: disabledWebhook } = await make('/api/v1/webhooks', { name: 'Old CRM', url, events });
  await sql`update webhooks set disabled_at = now() - interval '2 hours', consecutive_failures = 10,
    disabled_reason = '10 attempts in a row failed. Last failure: Connection refused'
    where id = ${disabledWebhook}`.execute(queryBuilderOf(world.database));
  return { webhook, delivery, disabledWebhook };
}
