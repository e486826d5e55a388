import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { sampleData } from '../../src/domain/event-samples.ts';
import type { EventKind } from '../../src/domain/event-kinds.ts';
import { startWorld, type World } from '../api/world.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/runs.ts';
import { assertAccessible, atScreens, picture, type AtScreens } from './screens.ts';

const LIST = '/settings/integrations/webhooks';

describe('the webhook screens', function () {
  this.timeout(60_000);
  let world: World;
  let receiver: Receiver;
  let at: AtScreens;
  let page: Page;
  before(async () => {
    world = await startWorld({ worker: false, deliveryWorker: true });
  });
  after(async () => await world.close());
  beforeEach(async () => {
    receiver = await startReceiver();
    at = await atScreens(world);
    ({ page } = at);
  });
  afterEach(async () => {
    const complaints = at.complaints();
    await at.close();
    const { json } = await world.send('GET', '/api/v1/webhooks?limit=200');
    for (const { id } of json.data) await world.send('DELETE', `/api/v1/webhooks/${id}`);
    await receiver.close();
    assert.deepEqual(complaints, []);
  });

  const webhook = async (members: Record<string, unknown> = {}): Promise<string> => {
    const body = {
      name: 'Billing sync',
      url: receiver.url,
      events: [{ event: 'issue.created' }],
      ...members,
    };
    const received = await world.send('POST', '/api/v1/webhooks', { body });
    assert.equal(received.status, 201, received.text);
    return received.json.id;
  };
  const publish = async (event: EventKind = 'issue.created', change: object = {}) => {
    const data = sampleData(event);
    const issue = data['issue'] ? { issue: { ...data['issue'], ...change } } : {};
    const received = await world.send('POST', '/api/v1/events', {
      body: { event, data: { ...data, ...issue } },
    });
    assert.equal(received.status, 202, received.text);
    return received.json.id as string;
  };
  const log = () => page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
  const panel = () => page.getByRole('complementary', { name: 'Delivery' });

  it('teach where there is no webhook yet', async () => {
    await at.go(LIST);
    await page.getByText('Nobody is told of anything yet').waitFor();
    await assertAccessible(page, 'the empty list');
    await picture(page, 'webhooks-empty');
  });

  it('lead from signing in to a test that arrived in eight clicks and two text fields', async () => {
    const fresh = await atScreens(world, { cookie: null });
    try {
      await fresh.page.addInitScript(COUNTING);
      await fresh.go('/sign-in');
      await fresh.signIn();
      await fresh.page.getByRole('link', { name: 'Webhooks' }).click();
      await fresh.page.getByRole('link', { name: 'New webhook' }).click();
      await type(fresh.page, 'URL', receiver.url);
      await type(fresh.page, 'Name', 'Billing sync');
      await fresh.page.getByRole('checkbox', { name: 'issue.created' }).click();
      await fresh.page.getByRole('button', { name: 'Save and send a test' }).click();
      await fresh.page.getByText('It works').waitFor();
      await receiver.receives(1);
      const { clicks, fields } = await fresh.page.evaluate(
        () => JSON.parse(sessionStorage.getItem('counted') ?? '{}') as { clicks: number; fields: string[] },
      );
      assert.ok(clicks <= 8, `${clicks} clicks`);
      assert.deepEqual(
        fields.toSorted(),
        ['email', 'name', 'password', 'url'],
        'two beside those of signing in',
      );
      assert.deepEqual(fresh.complaints(), []);
    } finally {
      await fresh.close();
    }
  });

  it('judge a webhook while it is written, and show what would be sent', async () => {
    await publish('issue.updated');
    await publish('issue.updated', { priority: 'Low' });
    await publish('user.joined');
    await at.go(`${LIST}/new`);
    await page.getByLabel('URL').fill('ftp://example.com');
    await page.getByText('Must begin with https:// or http://').waitFor();
    await page.getByLabel('URL').fill('http://example.com/hooks');
    await page.getByText('Not encrypted').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Choose at least one event.').waitFor();
    await page.getByRole('checkbox', { name: 'issue.updated' }).click();
    await page.getByText('Of the last 3 events, 2 would be sent.').waitFor();
    await page.getByRole('button', { name: 'Only when: a filter for issue.updated' }).click();
    const filters = page.getByRole('group', { name: 'Filters of issue.updated' });
    await filters.getByLabel('Value').fill('In Progress');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'And only when: a filter for issue.updated' }).click();
    await filters.getByLabel('Field').nth(1).selectOption('priority');
    await filters.getByLabel('How it is compared').nth(1).selectOption('is one of');
    await filters.getByLabel('Value').nth(1).click();
    await page.getByRole('option', { name: 'High' }).click();
    await page.keyboard.press('Escape');
    await page.getByText('Of the last 3 events, 1 would be sent.').waitFor();
    await page.getByText('No: priority: it is "Low", not "High"').waitFor();
    await page.getByRole('button', { name: 'Show the code that checks signatures' }).click();
    await page.getByText('function isGenuine').waitFor();
    await assertAccessible(page, 'the form');
    await picture(page, 'webhook-new');
    await page.getByRole('switch', { name: /Send the secret itself/ }).click();
    await page.getByText('Whoever sees one request then has the secret').waitFor();
    await page.getByRole('switch', { name: /Send the secret itself/ }).click();
    const secret = await page.getByRole('textbox', { name: 'New secret' }).inputValue();
    assert.match(secret, /^[0-9a-f]{64}$/);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'example.com' }).waitFor();
    const { json } = await world.send('GET', '/api/v1/webhooks');
    assert.deepEqual(json.data[0].events, [
      {
        event: 'issue.updated',
        filters: [
          { field: 'status', changed_to: 'In Progress' },
          { field: 'priority', values: ['High'] },
        ],
      },
    ]);
    assert.equal(json.data[0].has_secret, true);
  });

  it('show the exact request of a test, take other data, and say what came back', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}?test=yes`);
    const request = page.getByRole('region', { name: 'Request to be sent' });
    const signature = await request.getByText(/^sha256=[0-9a-f]{64}$/).textContent();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('It works').waitFor();
    const [first] = await receiver.receives(1);
    assert.equal(first?.headers['x-service-signature'], signature, 'it was sent as it was shown');
    await picture(page, 'webhook-test');
    receiver.answering(404);
    await page.getByText('The exact request').click();
    await page.getByRole('button', { name: 'Edit data' }).click();
    const data = page.getByRole('textbox', { name: 'data', exact: true });
    await data.fill('{ "issue": { "title": "no id" } }');
    await page.getByText('issue.id: Is required.').waitFor();
    await data.fill('{ "issue": { "id": "mine" } }');
    await request.getByText('"mine"').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('It does not work yet').waitFor();
    await page.getByText('Nothing takes requests at this path: look at the URL.').waitFor();
    const [, second] = await receiver.receives(2);
    assert.deepEqual(JSON.parse(second?.body.toString() ?? '').data, { issue: { id: 'mine' } });
    await assertAccessible(page, 'a test that failed');
  });

  it('follow deliveries live, open one, and send it once more', async () => {
    const filters = [{ field: 'priority', values: ['High'] }];
    const id = await webhook({ events: [{ event: 'issue.created', filters }], secret: 'quiet' });
    await at.go(`${LIST}/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await publish();
    await log().filter({ hasText: 'succeeded' }).waitFor();
    await publish('issue.created', { priority: 'Low' });
    await log().filter({ hasText: 'priority: it is "Low", not "High"' }).waitFor();
    receiver.answering((_request, response) => {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"busy"}');
      return undefined;
    });
    await publish();
    const failed = log().filter({ hasText: 'retrying' });
    await failed.getByText('503').waitFor();
    await failed.getByRole('link').click();
    await panel().getByText('The endpoint answered 503 Service Unavailable').waitFor();
    await panel().getByText('5 automatic retries are left.').waitFor();
    await panel().getByText('"busy"').waitFor();
    assert.ok(new URL(page.url()).searchParams.get('delivery'));
    await assertAccessible(page, 'a delivery beside the log');
    await picture(page, 'delivery-beside-log');
    receiver.answering(204);
    await panel().getByRole('button', { name: 'Retry now' }).click();
    await panel().getByText('The endpoint took it: 204 No Content').waitFor();
    await panel().getByRole('button', { name: 'attempt 2 by hand: 204' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await panel().getByText('It was not sent.').waitFor();
    await panel().getByRole('link', { name: 'Open the full page' }).click();
    await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
    await page.getByText('It was not sent.').waitFor();
    await assertAccessible(page, 'a delivery on its page');
    await page.goBack();
    await panel().waitFor();
    await page.keyboard.press('Escape');
    await panel().waitFor({ state: 'detached' });
  });

  it('keep the filters of the log in the address', async () => {
    const id = await webhook();
    await publish('issue.created', { key: 'FIRST-1' });
    await publish('issue.created', { key: 'OTHER-2' });
    await at.go(`${LIST}/${id}`);
    await eventually('both are there', async () => (await log().count()) === 2);
    await page.getByLabel('Search by text, id or key').fill('FIRST');
    await page.waitForURL(/text=FIRST/);
    await eventually('one is left', async () => (await log().count()) === 1);
    await page.getByRole('button', { name: 'Status' }).click();
    await page.getByRole('checkbox', { name: 'failed' }).click();
    await page.getByText('No delivery fits these filters').waitFor();
    await page.reload();
    await page.getByText('No delivery fits these filters').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await eventually('both are back', async () => (await log().count()) === 2);
  });

  it('repair a webhook that was disabled: notice, test, re-enable, recover', async () => {
    const id = await webhook({ name: 'Old CRM' });
    receiver.answering(500);
    for (let count = 0; count < 12; count += 1) await publish();
    await eventually('it is disabled', async () => {
      const { json } = await world.send('GET', `/api/v1/webhooks/${id}`);
      return json.status === 'disabled';
    });
    await at.go(LIST);
    await page.getByText(/10 attempts in a row failed/).waitFor();
    await page.getByText(/held/).waitFor();
    await assertAccessible(page, 'the list');
    await picture(page, 'webhooks-list');
    await page.getByRole('button', { name: 'Notifications, 1 unread' }).click();
    await page.getByText('“Old CRM” was disabled: it failed too often').waitFor();
    await assertAccessible(page, 'the notifications');
    await picture(page, 'notifications');
    await page.getByRole('link', { name: /“Old CRM”/ }).click();
    await page.getByText('Disabled: nothing is sent').waitFor();
    await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    await assertAccessible(page, 'a disabled webhook');
    await picture(page, 'webhook-disabled');
    receiver.answering(200);
    await page.getByRole('button', { name: '1 · Send a test' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('It works').waitFor();
    await page.getByRole('button', { name: 'Close the test' }).click();
    await page.getByRole('button', { name: '2 · Re-enable' }).click();
    await page.getByRole('button', { name: /^Recover \d+ held$/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/12 deliveries would be sent/).waitFor();
    await assertAccessible(page, 'the recovering');
    await picture(page, 'webhook-recover');
    await dialog.getByRole('button', { name: 'Send 12 deliveries' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(
      'all have arrived',
      async () => (await log().filter({ hasText: 'succeeded' }).count()) >= 12,
    );
    await page.getByText('held', { exact: true }).waitFor({ state: 'detached' });
  });

  it('rotate a secret and show it once; ask before they switch off or delete', async () => {
    await webhook({ secret: 'quiet' });
    await at.go(LIST);
    await page.getByRole('link', { name: 'Billing sync' }).click();
    const more = page.getByRole('button', { name: 'More to do with this webhook' });
    await more.click();
    await page.getByRole('menuitem', { name: 'Rotate the secret' }).click();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await assertAccessible(page, 'the rotation');
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    assert.match(await page.getByRole('textbox', { name: 'New secret' }).inputValue(), /^[0-9a-f]{64}$/);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('the old secret signs too').waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Switch off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('Switched off by hand').waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('Delete “Billing sync”?').waitFor();
    await page.getByText('the secret, which nobody can read again').waitFor();
    await assertAccessible(page, 'the deleting');
    await page.getByRole('button', { name: 'Delete the webhook' }).click();
    await page.getByText('Nobody is told of anything yet').waitFor();
  });

  it('change a webhook in the same form', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}/edit`);
    await page.getByLabel('Name').fill('Renamed');
    await page.getByRole('checkbox', { name: 'Issues' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Renamed' }).waitFor();
    const { json } = await world.send('GET', `/api/v1/webhooks/${id}`);
    assert.equal(json.events.length, 4);
    assert.equal(json.has_secret, true);
    await at.go(`${LIST}/${id}/edit`);
    await page.getByLabel('Name').waitFor();
    await assertAccessible(page, 'the form of a webhook');
  });
});

/** Types into a field as a person does: by a click into it. */
async function type(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label).click();
  await page.keyboard.type(text);
}

/** Counts what a person does, over all pages of a tab. */
const COUNTING = `(() => {
  const counted = () => JSON.parse(sessionStorage.getItem('counted') ?? '{"clicks":0,"fields":[]}');
  const keep = (now) => sessionStorage.setItem('counted', JSON.stringify(now));
  addEventListener('pointerdown', () => { const now = counted(); now.clicks += 1; keep(now); }, true);
  addEventListener('input', ({ target }) => {
    if (target.type === 'checkbox') return;
    const now = counted();
    if (!now.fields.includes(target.name)) now.fields.push(target.name);
    keep(now);
  }, true);
})();`;
