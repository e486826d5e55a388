import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { Page, WebSocketRoute } from 'playwright-core';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import type { EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { useWorld } from '../support/world.ts';
import { eventually } from '../support/eventually.ts';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { CHANNELS } from '../../src/database/common/notifications.ts';
import { MANY_CHANGED } from '../../src/database/webhooks/watched-webhooks.ts';
import { recordUnmadeRetry } from '../../src/database/webhooks/scheduled-retries.ts';
import { formatLocal } from '../../web/format/time.ts';
import { addPerson } from '../support/people.ts';
import {
  assertAccessible,
  assertFitsPhone,
  clickUntilAnswered,
  DIALOG,
  openScreens,
  picture,
  useScreens,
} from './screens.ts';
import { usualDay, withHistory } from './webhook-history.ts';

const LIST = '/settings/integrations/webhooks';

describe('the webhook screens', function () {
  const world = useWorld();
  const at = useScreens(world);
  const { receiver, ...webhooks } = useWebhooks(world);
  let page: Page;
  beforeEach(() => void ({ page } = at));

  const webhook = (members: object = {}) => webhooks.create({ name: 'Billing sync', ...members });
  const publish = (event: EventKind = 'issue.created', change: object = {}) => {
    const data = sampleData(event);
    const issue = data['issue'] ? { issue: { ...data['issue'], ...change } } : {};
    return webhooks.publish(event, { ...data, ...issue });
  };
  const log = () => page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
  const panel = () => page.getByRole('complementary', { name: 'Delivery' });

  it('explain the empty list', async () => {
    await at.go(LIST);
    await page.getByText('No webhooks yet').waitFor();
    await assertAccessible(page, 'the empty list');
    await assertFitsPhone(page);
    await picture(page, 'webhooks-empty');
  });

  it('list each webhook with its health, and can be searched and filtered', async () => {
    const busy = await webhook({ url: 'https://api.acme.io/hooks', secret: 'quiet' });
    await withHistory(world, busy, usualDay(6));
    const failing = await webhook({ name: 'Deploy bot', url: 'https://bot.acme.io/in' });
    await withHistory(world, failing, [{ ago: 0.3, succeeded: 1, failed: 7, tookMs: 40 }]);
    const unlucky = await webhook({ name: 'Chat', url: 'https://chat.acme.io/in' });
    await withHistory(world, unlucky, [{ ago: 0.5, succeeded: 0, failed: 1, tookMs: 40 }]);
    const old = await webhook({
      name: 'Old CRM',
      url: 'http://crm.acme.io/x',
      events: [{ event: 'user.joined' }],
    });
    const database = queryBuilderOf(world.database);
    await sql`update webhooks set consecutive_failures = 7 where id = ${failing}`.execute(database);
    await sql`update webhooks set disabled_at = now() - interval '2 hours', consecutive_failures = 10,
      disabled_reason = '10 attempts in a row failed. Last failure: Connection refused' where id = ${old}`.execute(
      database,
    );
    const { json } = await world.send('POST', '/api/v1/listeners', {
      body: { forward_to: 'http://localhost:4000/hook', name: 'Ada’s laptop' },
    });
    await at.go(LIST);
    const row = (id: string) => page.locator(`[data-webhook="${id}"]`);
    await row(busy).getByText('last delivery 30 min ago').waitFor();
    await row(busy)
      .getByRole('img', { name: /attempts in 24 hours, 9\d\.\d% succeeded/ })
      .waitFor();
    await row(unlucky).getByText('active · last delivery failed (503) 30 min ago').waitFor();
    await row(failing).getByText('failing: 7 failures in a row (disabled after 10)').waitFor();
    await row(failing).getByRole('link', { name: 'Show failures of Deploy bot' }).waitFor();
    await row(old).getByText('Connection refused').waitFor();
    await row(json.id).getByText('listening').waitFor();
    await picture(page, 'webhooks-list');
    await page.getByLabel('Search by name').fill('acme bot');
    await row(busy).waitFor({ state: 'detached' });
    await row(failing).waitFor();
    await page.getByLabel('Search by name').fill('');
    await page.getByRole('button', { name: 'Status' }).click();
    await page.getByRole('checkbox', { name: 'disabled' }).click();
    await row(failing).waitFor({ state: 'detached' });
    await row(old).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('status'), 'disabled');
    await at.go(`${LIST}/${busy}`);
    await page.getByRole('img', { name: /in the last 24 hours succeeded/ }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await picture(page, 'webhook');
  });

  it('show changes live in two tabs', async () => {
    const id = await webhook();
    await at.go(`${LIST}/${id}`);
    const other = await page.context().newPage();
    await other.goto(`${world.api.url}${LIST}/${id}`);
    await other.getByText('live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Deactivate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('Webhook inactive').waitFor();
    await other.getByText('Webhook inactive').waitFor();
    await other.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('Webhook inactive').waitFor({ state: 'detached' });
    await other.close();
  });

  it('give viewers read-only access', async () => {
    const id = await webhook({ secret: 'quiet' });
    await publish();
    const viewer = await openScreens(world, {
      cookie: await addPerson(world, await world.signIn(), 'viewer'),
    });
    try {
      await viewer.go(`${LIST}/${id}`);
      await viewer.page.getByRole('list', { name: 'Deliveries' }).getByRole('link').click();
      const detail = viewer.page.getByRole('complementary', { name: 'Delivery' });
      await detail.getByText('Delivered:').waitFor();
      for (const name of ['Send test event', 'Recover…', 'Retry now', 'More actions'])
        assert.equal(await viewer.page.getByRole('button', { name }).count(), 0, name);
      await viewer.go(`${LIST}/new`);
      await viewer.page.getByText('Missing permission').waitFor();
      assert.deepEqual(viewer.errors(), []);
    } finally {
      await viewer.close();
    }
  });

  it('lead from the sign-in to a delivered test in eight clicks and two text fields', async () => {
    const fresh = await openScreens(world, { cookie: null });
    try {
      await fresh.page.addInitScript(COUNTING);
      await fresh.go('/sign-in');
      await fresh.signIn();
      await fresh.page.getByRole('link', { name: 'Webhooks', exact: true }).click();
      await fresh.page.getByRole('link', { name: 'Create webhook' }).click();
      await type(fresh.page, 'URL', receiver.url);
      await type(fresh.page, 'Name', 'Billing sync');
      await fresh.page.getByRole('checkbox', { name: 'issue.created' }).click();
      await fresh.page.getByRole('button', { name: 'Create and send test event' }).click();
      await fresh.page.getByText('Test succeeded').waitFor();
      await receiver.receives(1);
      const { clicks, fields } = await fresh.page.evaluate(
        () => JSON.parse(sessionStorage.getItem('counted') ?? '{}') as { clicks: number; fields: string[] },
      );
      assert.ok(clicks <= 8, `${clicks} clicks`);
      assert.deepEqual(
        fields.toSorted(),
        ['email', 'name', 'password', 'url'],
        'two in addition to the sign-in fields',
      );
      assert.deepEqual(fresh.errors(), []);
    } finally {
      await fresh.close();
    }
  });

  it('validate a webhook during editing, and preview the matching events', async () => {
    // Removes the events of other tests from the last events.
    await sql`update events set body = null where workspace_id = ${world.installation.workspace_id}`.execute(
      queryBuilderOf(world.database),
    );
    await publish('issue.updated');
    await publish('issue.updated', { priority: 'Low' });
    await publish('user.joined');
    await at.go(`${LIST}/new`);
    await page.getByLabel('URL').fill('ftp://example.com');
    await page.getByText('Must start with https:// or http://').waitFor();
    await page.getByLabel('URL').fill('http://example.com/hooks');
    await page.getByText('Not encrypted').waitFor();
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
    await page.getByText('Select at least one event.').waitFor();
    await page.getByRole('checkbox', { name: 'issue.updated' }).click();
    await page.getByText('This webhook would receive 2 of the last 3 events.').waitFor();
    await page.getByRole('button', { name: 'Add filter for issue.updated' }).click();
    const filters = page.getByRole('group', { name: 'Filters of issue.updated' });
    await filters.getByLabel('Value').fill('In Progress');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add filter for issue.updated' }).click();
    await filters.getByLabel('Field').nth(1).selectOption('priority');
    await filters.getByLabel('Operator').nth(1).selectOption('is one of');
    await filters.getByLabel('Value').nth(1).click();
    await page.getByRole('option', { name: 'High' }).click();
    await page.keyboard.press('Escape');
    await page.getByText('This webhook would receive 1 of the last 3 events.').waitFor();
    await page.getByText('would not be sent: priority is "Low", not "High"').waitFor();
    await page.getByRole('button', { name: 'Show verification code' }).click();
    await page.getByText('function isGenuine').waitFor();
    await assertAccessible(page, 'the form');
    await picture(page, 'webhook-new');
    await assertFitsPhone(page);
    await page.getByRole('switch', { name: /Send the secret in/ }).click();
    await page.getByText('Each request reveals the secret').waitFor();
    const consent = page.getByRole('checkbox', { name: 'Send the secret unencrypted' });
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
    await page.getByText('Must be true to send the secret over plain http').waitFor();
    await assertAccessible(page, 'the form that asks for consent');
    await consent.check();
    await page.getByLabel('URL').fill('https://example.com/hooks');
    await consent.waitFor({ state: 'hidden' });
    await page.getByRole('switch', { name: /Send the secret in/ }).click();
    await page.getByLabel('URL').fill('http://example.com/hooks');
    await page.getByLabel('URL').fill('http://10.0.0.1/hooks');
    await page.getByText('Private address').waitFor();
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
    await page.getByText('Is not allowed:').waitFor();
    await page.getByLabel('URL').fill('http://example.com/hooks');
    const secret = await page.getByRole('textbox', { name: 'New secret' }).inputValue();
    assert.match(secret, /^[0-9a-f]{64}$/);
    await page.getByRole('button', { name: 'Create webhook', exact: true }).click();
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

  it('ask for the secret before it is sent to a new receiver', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}/edit`);
    await page.getByRole('switch', { name: /Send the secret in/ }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Is required to send it to a new URL').waitFor();
    await assertAccessible(page, 'the form that asks for the secret');
    await page.getByText('Use my own', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Secret', exact: true }).fill('quiet');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Billing sync', exact: true }).waitFor();
    const { json } = await world.send('GET', `/api/v1/webhooks/${id}`);
    assert.equal(json.include_secret_header, true);
  });

  it('preview the exact test request, accept other data, and show the result', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}?test=yes`);
    await page.getByText('Filters do not apply.').waitFor();
    const request = page.getByRole('region', { name: 'Request preview' });
    const signature = await request.getByText(/^sha256=[0-9a-f]{64}$/).textContent();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Test succeeded').waitFor();
    const [first] = await receiver.receives(1);
    assert.equal(
      first?.headers['x-service-signature'],
      signature,
      'the sent request has the signature of the preview',
    );
    await picture(page, 'webhook-test');
    await assertFitsPhone(page);
    receiver.answering(404);
    await page.getByText('Request to send').click();
    await page.getByRole('button', { name: 'Edit data' }).click();
    const data = page.getByRole('textbox', { name: 'data', exact: true });
    await data.fill('{ "issue": { "title": "no id" } }');
    await page.getByText('issue.id: Is required.').waitFor();
    await data.fill('{ "issue": { "id": "mine" } }');
    await request.getByText('"mine"').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Test failed').waitFor();
    await page.getByText('No endpoint exists at this path. Check the URL.').waitFor();
    const [, second] = await receiver.receives(2);
    assert.deepEqual(JSON.parse(second?.body.toString() ?? '').data, { issue: { id: 'mine' } });
    await assertAccessible(page, 'a failed test');
  });

  it('show a sample and the schema of each event of a webhook', async () => {
    const id = await webhook({ events: [{ event: 'sprint.started' }] });
    await at.go(`${LIST}/${id}`);
    await page.getByRole('button', { name: 'sprint.started' }).click();
    const dialog = page.getByRole('dialog', { name: 'sprint.started' });
    await dialog.getByRole('region', { name: 'sample' }).getByText('"Sprint 9"').waitFor();
    await dialog.getByRole('region', { name: 'schema' }).getByText('$schema').waitFor();
    await assertAccessible(page, 'the sample and the schema of an event', DIALOG);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('show the key and title of the event of a delivery first, and its ids last', async () => {
    const filters = [{ field: 'priority', values: ['Highest'] }];
    const id = await webhook({ events: [{ event: 'issue.created', filters }], secret: 'quiet' });
    await at.go(`${LIST}/${id}`);
    await publish();
    await log().waitFor();
    const texts = (await log().innerText()).split('\n').filter((text) => text.trim() !== '');
    assert.deepEqual(texts.slice(0, 4), [
      'skipped',
      'SHOP-142 The cart forgets its coupon Ben Alvarez iss_481',
      'issue.created',
      'priority is "High", not "Highest"',
    ]);
    const widthOf = async (text: string) => (await log().getByText(text).boundingBox())?.width ?? 0;
    assert.ok((await widthOf('SHOP-142')) > (await widthOf('priority is')) * 1.2, 'the title has the width');
    await assertFitsPhone(page);
    await picture(page, 'deliveries');
  });

  it('show deliveries live, open one, and retry it', async () => {
    const filters = [{ field: 'priority', values: ['High'] }];
    const id = await webhook({ events: [{ event: 'issue.created', filters }], secret: 'quiet' });
    await at.go(`${LIST}/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await publish();
    await log().filter({ hasText: 'succeeded' }).waitFor();
    await publish('issue.created', { priority: 'Low' });
    await log().filter({ hasText: 'priority is "Low", not "High"' }).waitFor();
    receiver.answering((_request, response) => {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"busy"}');
      return undefined;
    });
    await publish();
    const failed = log().filter({ hasText: 'retrying' });
    await failed.getByText('503').waitFor();
    await failed.getByRole('link').click();
    await panel().getByText('The endpoint returned 503 Service Unavailable').waitFor();
    await panel().getByText('5 automatic retries are left.').waitFor();
    await panel().getByText('{"error":"busy"}', { exact: true }).waitFor();
    await panel().getByText('"busy"', { exact: true }).waitFor();
    const sides = panel().getByRole('region', { name: /^(Request|Response)$/ });
    assert.equal(await sides.first().getAttribute('aria-label'), 'Response');
    assert.equal(await panel().getByText('content-type').first().isVisible(), false);
    assert.ok(new URL(page.url()).searchParams.get('delivery'));
    await assertAccessible(page, 'a delivery beside the log');
    await picture(page, 'delivery-beside-log');
    await panel()
      .getByText(/^\d+ headers?$/)
      .first()
      .click();
    await panel().getByText('content-type').first().waitFor();
    await assertFitsPhone(page);
    receiver.answering(204);
    await panel().getByRole('button', { name: 'Retry now' }).click();
    await panel().getByText('Delivered: 204 No Content').waitFor();
    await panel().getByText('Attempt started.').waitFor({ state: 'detached' });
    await panel().getByRole('button', { name: 'attempt 2 (manual): 204' }).waitFor();
    await panel().getByRole('button', { name: 'Schedule…' }).click();
    await page.getByRole('button', { name: 'Retry in 5 min' }).click();
    await panel().getByText('Attempt scheduled for').waitFor();
    await panel().getByText('scheduled retry', { exact: true }).waitFor();
    await panel().getByText('Retry scheduled in').waitFor();
    await assertAccessible(page, 'a delivery with a scheduled retry');
    await panel().getByRole('button', { name: 'Cancel retry' }).click();
    await panel().getByText('Retry scheduled in').waitFor({ state: 'detached' });
    await panel().getByText('scheduled retry', { exact: true }).waitFor({ state: 'detached' });
    const shown = { id: new URL(page.url()).searchParams.get('delivery') ?? '', webhook_id: id };
    const unmade = { why: 'the webhook is inactive', at: new Date() };
    await recordUnmadeRetry(world.database, shown, unmade);
    const time = formatLocal(unmade.at.toISOString());
    await panel().getByText(`A manual retry was not made at ${time}: the webhook is inactive.`).waitFor();
    await page.keyboard.press('ArrowDown');
    await panel().getByText('Not sent: priority is').waitFor();
    await panel().getByRole('link', { name: 'Edit filters' }).waitFor();
    await page.keyboard.press('ArrowUp');
    await panel().getByText('Delivered:').waitFor();
    await panel().getByRole('link', { name: 'Open full page' }).click();
    await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
    await page.getByRole('heading', { name: 'issue.created delivery' }).waitFor();
    await page.getByRole('button', { name: 'attempt 1: 503' }).click();
    await page.getByText('"busy"', { exact: true }).waitFor();
    await picture(page, 'delivery');
    await page.goBack();
    await panel().waitFor();
    await page.keyboard.press('Escape');
    await panel().waitFor({ state: 'detached' });
  });

  it('show a large payload in parts, read it once, and copy all of it', async () => {
    const id = await webhook();
    await publish('issue.created', { labels: Array.from({ length: 250 }, (_, index) => `label ${index}`) });
    const [request] = await receiver.receives(1);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.addInitScript(countParsed, '"label 249"');
    await at.go(`${LIST}/${id}`);
    await log().getByRole('link').click();
    await panel().getByRole('button', { name: 'Copy Request body' }).click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), request?.body.toString());
    const body = panel().getByRole('region', { name: 'Request body' });
    const labels = body.getByText(/^"label \d+"$/);
    const fold = (name: string) => body.locator('summary').filter({ hasText: `"${name}"` });
    await fold('issue').press('Enter');
    await fold('labels').waitFor();
    assert.equal(await labels.count(), 0);
    await fold('labels').press('Enter');
    const more = body.getByRole('button', { name: 'Show more (150 left)' });
    await more.waitFor();
    assert.equal(await labels.count(), 100);
    await more.press('Enter');
    await body.getByRole('button', { name: 'Show more (50 left)' }).press('Enter');
    await body.getByText('"label 249"').waitFor();
    assert.equal(await labels.count(), 250);
    assert.equal(await body.getByRole('button').count(), 0);
    await panel().getByRole('button', { name: 'Retry now' }).click();
    await panel().getByRole('button', { name: 'attempt 2 (manual): 204' }).waitFor();
    assert.equal(await labels.count(), 250);
    assert.equal(await page.evaluate('globalThis.parsed'), 1);
  });

  it('copy a delivery as a curl command with the same request', async () => {
    const id = await webhook({ secret: 'quiet' });
    await publish('issue.created', { title: `It's "here" $HOME \\ \`now\`` });
    const [request] = await receiver.receives(1);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await at.go(`${LIST}/${id}`);
    await log().getByRole('link').click();
    await panel().getByRole('button', { name: 'Copy as curl' }).click();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    // A shell parses the command into its arguments.
    const args = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`])
      .toString()
      .split('\0');
    assert.deepEqual(args.slice(0, 3), ['-X', 'POST', receiver.url]);
    assert.ok(args.includes(`x-service-signature: ${String(request?.headers['x-service-signature'])}`));
    assert.equal(args[args.indexOf('--data-binary') + 1], request?.body.toString());
  });

  it('offer to activate the webhook of a delivery that was skipped while it was inactive', async () => {
    const id = await webhook({ active: false });
    await publish();
    await at.go(`${LIST}/${id}`);
    await page.getByText('No attempts', { exact: true }).waitFor();
    assert.equal(await page.getByText('highest bar').count(), 0);
    await log().filter({ hasText: 'skipped' }).getByRole('link').click();
    await panel().getByText('Not sent: the webhook was inactive.').waitFor();
    await assertAccessible(page, 'a skipped delivery of an inactive webhook');
    await assertFitsPhone(page);
    await panel().getByRole('button', { name: 'Activate webhook' }).click();
    await page.getByText('Webhook inactive').waitFor({ state: 'detached' });
    await panel().getByRole('button', { name: 'Activate webhook' }).waitFor({ state: 'detached' });
    assert.equal(await panel().getByRole('link', { name: 'Edit filters' }).count(), 0);
  });

  it('poll the first pages of the log if the live channel is blocked', async () => {
    const id = await webhook();
    await page.routeWebSocket(/\/ws/, (socket) => socket.close());
    await at.go(`${LIST}/${id}`);
    await page.getByText('updates every 3 s').waitFor();
    await publish();
    await log().filter({ hasText: 'succeeded' }).waitFor();
    await withHistory(world, id, [{ ago: 1, succeeded: 110, failed: 0, tookMs: 10 }]);
    await page.reload();
    await eventually('all pages are loaded', async () => {
      await log().last().scrollIntoViewIfNeeded();
      return (await log().count()) === 111;
    });
    await page.getByText('not updated').waitFor();
  });

  /** Holds the deliveries of a webhook, and notifies those who watch it. */
  const holdAll = (id: string) =>
    sql`
      with changed as (update deliveries set status = 'held' where webhook_id = ${id}::uuid)
      select pg_notify(${CHANNELS.deliveries}, ${`${id} ${MANY_CHANGED}`})
    `.execute(queryBuilderOf(world.database));

  it('show changes of many deliveries at once, also of the oldest', async () => {
    const id = await webhook();
    await withHistory(world, id, [{ ago: 1, succeeded: 110, failed: 0, tookMs: 10 }]);
    await at.go(`${LIST}/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await eventually('all pages are loaded', async () => {
      await log().last().scrollIntoViewIfNeeded();
      return (await log().count()) === 110;
    });
    await holdAll(id);
    const held = log().filter({ hasText: 'held' });
    await eventually('all are shown as held', async () => (await held.count()) === 110);
  });

  it('request a page of the log that failed only when asked again', async () => {
    const id = await webhook();
    await withHistory(world, id, [{ ago: 1, succeeded: 60, failed: 0, tookMs: 10 }]);
    let requests = 0;
    await page.route(/deliveries\?.*cursor=/, async (route) => {
      requests += 1;
      await route.fulfill({ status: 400, json: { code: 'bad_request', detail: 'Out of order.' } });
    });
    await at.go(`${LIST}/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await log().last().scrollIntoViewIfNeeded();
    const failure = page.getByRole('alert').getByText('Out of order.');
    await failure.waitFor();
    // The pages that are shown are refreshed, and not the other one.
    await holdAll(id);
    const held = log().filter({ hasText: 'held' });
    await eventually('the first page is refreshed', async () => (await held.count()) === 50);
    await failure.waitFor();
    await at.isLoaded();
    assert.equal(requests, 1);
    const more = page.getByRole('button', { name: 'Show more' });
    await more.click();
    await eventually('the page is requested again', () => requests === 2);
    await failure.waitFor();
    await at.isLoaded();
    assert.equal(requests, 2);
    // With another filter it is another list.
    await page.getByRole('button', { name: 'Status' }).click();
    await page.getByRole('checkbox', { name: 'held' }).click();
    await page.waitForURL(/status=/);
    await log().last().scrollIntoViewIfNeeded();
    await eventually('the page of the other list is requested', () => requests === 3);
    await failure.waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await more.click();
    await eventually('the log is complete', async () => (await log().count()) === 60);
    await failure.waitFor({ state: 'detached' });
  });

  it('recover after a lost network, with every delivery once', async () => {
    const id = await webhook();
    // A separate page: its errors without a network are expected.
    const screens = await openScreens(world);
    const deliveries = screens.page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
    const channels: WebSocketRoute[] = [];
    try {
      await screens.page.routeWebSocket(/\/ws/, (socket) => {
        socket.connectToServer();
        channels.push(socket);
      });
      await screens.go(`${LIST}/${id}`);
      await screens.page.getByText('live', { exact: true }).waitFor();
      await publish();
      await deliveries.filter({ hasText: 'succeeded' }).waitFor();
      await screens.page.context().setOffline(true);
      await screens.page.getByText('not updated', { exact: true }).waitFor();
      for (const channel of channels) await channel.close();
      await publish();
      await publish();
      await receiver.receives(3);
      await screens.page.context().setOffline(false);
      await screens.page.getByText('live', { exact: true }).waitFor();
      const succeeded = deliveries.filter({ hasText: 'succeeded' });
      await eventually('all deliveries have succeeded', async () => (await succeeded.count()) === 3);
      assert.equal(await deliveries.count(), 3);
    } finally {
      await screens.close();
    }
  });

  it('keep the filters of the log in the URL', async () => {
    const id = await webhook();
    await publish('issue.created', { key: 'FIRST-1' });
    await publish('issue.created', { key: 'OTHER-2' });
    await at.go(`${LIST}/${id}`);
    await eventually('both deliveries are listed', async () => (await log().count()) === 2);
    await page.getByLabel('Search by ID, issue key').fill('FIRST');
    await page.waitForURL(/text=FIRST/);
    await eventually('one delivery is left', async () => (await log().count()) === 1);
    await page.getByRole('button', { name: 'Status' }).click();
    await page.getByRole('checkbox', { name: 'failed' }).click();
    await page.getByText('No matching deliveries').waitFor();
    await page.reload();
    await page.getByText('No matching deliveries').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await eventually('both deliveries are listed again', async () => (await log().count()) === 2);
  });

  it('guide through the repair of a disabled webhook: notification, test, re-enable, recover', async () => {
    const id = await webhook({ name: 'Old CRM' });
    receiver.answering(500);
    for (let count = 0; count < 12; count += 1) await publish();
    await eventually('the webhook is disabled', async () => {
      const { json } = await world.send('GET', `/api/v1/webhooks/${id}`);
      return json.status === 'disabled';
    });
    await at.go(LIST);
    await page.getByText(/10 attempts in a row failed/).waitFor();
    await page.getByText(/held/).waitFor();
    await page.getByRole('button', { name: 'Notifications, 1 unread' }).click();
    await page.getByText('“Old CRM” was disabled after repeated failures').waitFor();
    await picture(page, 'notifications');
    await page.getByRole('link', { name: /“Old CRM”/ }).click();
    await page.getByText('Webhook disabled').waitFor();
    await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await picture(page, 'webhook-disabled');
    await log().filter({ hasText: 'held' }).first().getByRole('link').click();
    await panel().getByText('Enable the webhook, then recover its deliveries.').waitFor();
    await page.keyboard.press('Escape');
    const viewer = await openScreens(world, {
      cookie: await addPerson(world, await world.signIn(), 'viewer'),
    });
    await viewer.go(new URL(page.url()).pathname);
    await viewer.page.getByText('Ask an admin of this workspace to enable the webhook.').waitFor();
    receiver.answering(200);
    await page.getByRole('button', { name: '1 · Send test event' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Test succeeded').waitFor();
    await page.getByRole('button', { name: 'Close test' }).click();
    await page.getByRole('button', { name: '2 · Enable' }).click();
    await page.locator('button:focus', { hasText: /^Recover \d+ deliveries$/ }).waitFor();
    await viewer.page.getByText('Ask an admin of this workspace to recover the deliveries.').waitFor();
    await log().filter({ hasText: 'held' }).first().getByRole('link').click();
    await panel().getByText('The webhook is enabled now: recover its deliveries.').waitFor();
    await page.keyboard.press('Escape');
    await viewer.close();
    await page.getByRole('button', { name: /^Recover \d+ deliveries$/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Baton will send 12 deliveries').waitFor();
    await assertAccessible(page, 'the recovery dialog', DIALOG);
    await picture(page, 'webhook-recover');
    await dialog.getByRole('button', { name: 'Send 12 deliveries' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(
      'all deliveries have succeeded',
      async () => (await log().filter({ hasText: 'succeeded' }).count()) >= 12,
    );
    await page.getByText('held', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: /held$/ }).waitFor({ state: 'detached' });
  });

  it('rotate a secret and show it once, and ask for confirmation before a deactivation or deletion', async () => {
    await webhook({ secret: 'quiet' });
    await at.go(LIST);
    await page.getByRole('link', { name: 'Billing sync' }).click();
    const more = page.getByRole('button', { name: 'More actions' });
    await more.click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await assertAccessible(page, 'the rotation dialog', DIALOG);
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    assert.match(await page.getByRole('textbox', { name: 'New secret' }).inputValue(), /^[0-9a-f]{64}$/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('signed · also signed with the old secret').waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Deactivate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('Webhook inactive').waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('Delete “Billing sync”?').waitFor();
    await page.getByText('This permanently deletes the secret.').waitFor();
    await assertAccessible(page, 'the deletion dialog', DIALOG);
    await page.getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });

  it('do not lose a rotated secret with a response, or by closing the dialog before it', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    const { secret } = await clickUntilAnswered(page, 'Rotate secret', '**/rotate-secret');
    assert.equal(await page.getByRole('textbox', { name: 'New secret' }).inputValue(), secret);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('edit a webhook in the same form', async () => {
    const id = await webhook({ secret: 'quiet' });
    await at.go(`${LIST}/${id}/edit`);
    await page.getByLabel('Name').fill('Renamed');
    await page.getByRole('checkbox', { name: 'Issues' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Renamed' }).waitFor();
    const { json } = await world.send('GET', `/api/v1/webhooks/${id}`);
    assert.equal(json.events.length, 4);
    assert.equal(json.has_secret, true);
  });
});

/** Clicks into a field and types. */
async function type(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label).click();
  await page.keyboard.type(text);
}

/** Counts how often the page parses a text with this part. */
function countParsed(part: string): void {
  const { parse } = JSON;
  const page = globalThis as { parsed?: number };
  page.parsed = 0;
  JSON.parse = (text: unknown, reviver?: Parameters<typeof parse>[1]) => {
    if (String(text).includes(part)) page.parsed = (page.parsed ?? 0) + 1;
    return parse(String(text), reviver) as unknown;
  };
}

/** Counts clicks and used fields over all pages of a tab. */
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
