import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { deleteWebhooks } from '../support/webhooks.ts';
import { useWorld } from '../support/world.ts';
import { assertAccessible, assertFitsPhone, DIALOG, useScreens } from './screens.ts';

const LIST = '/settings/integrations/webhooks';

describe('the webhook form', () => {
  const world = useWorld();
  const at = useScreens(world);
  let page: Page;
  beforeEach(() => void ({ page } = at));
  afterEach(() => deleteWebhooks(world));

  type Listed = { id: string; has_secret: boolean; events: { event: string; filters: object[] }[] };
  const webhooks = async (): Promise<Listed[]> => (await world.send('GET', '/api/v1/webhooks')).json.data;
  const create = async (fields: object = {}): Promise<string> => {
    const body = {
      name: 'Billing',
      url: 'https://api.acme.example/hooks',
      events: [{ event: 'issue.created' }],
    };
    const { status, text, json } = await world.send('POST', '/api/v1/webhooks', {
      body: { ...body, ...fields },
    });
    assert.equal(status, 201, text);
    return json.id;
  };
  const fill = async () => {
    await at.go(`${LIST}/new`);
    await page.locator('[name=url]:focus').fill('https://api.acme.example/hooks');
    await page.getByRole('checkbox', { name: 'issue.updated' }).check();
  };
  const createButton = () => page.getByRole('button', { name: 'Create webhook', exact: true });

  it('does not save on Enter, which adds a value, but on Ctrl+Enter', async () => {
    await fill();
    await page.getByLabel('URL').press('Enter');
    await page.getByLabel('Name').fill('Billing');
    await page.getByLabel('Description').fill('Tells billing');
    await page.getByLabel('Name').press('Enter');
    await page.getByRole('checkbox', { name: 'issue.updated' }).press('Enter');
    const filters = page.getByRole('group', { name: 'Filters of issue.updated' });
    const add = page.getByRole('button', { name: 'Add filter for issue.updated' });
    await add.press('Enter');
    await filters.locator('select:focus').waitFor();
    await filters.getByLabel('Value').fill('Shipped');
    await page.keyboard.press('Enter');
    await add.click();
    await filters.getByLabel('Field').nth(1).selectOption('priority');
    await filters.getByLabel('Operator').nth(1).selectOption('is one of');
    for (const value of ['Mine', '', 'Yours']) {
      await filters.getByLabel('Value').nth(1).fill(value);
      await page.keyboard.press('Enter');
    }
    await filters.getByText('Yours', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).pathname, `${LIST}/new`);
    assert.deepEqual(await webhooks(), []);
    // The last value is typed, but not added.
    await filters.getByLabel('Value').nth(1).fill('Last');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Billing' }).waitFor();
    await page.getByText('Tells billing').waitFor();
    const [created] = await webhooks();
    assert.deepEqual(created?.events[0]?.filters, [
      { field: 'status', changed_to: 'Shipped' },
      { field: 'priority', values: ['Mine', 'Yours', 'Last'] },
    ]);
  });

  it('shows an error beside a filter without a value, and saves it when it has one', async () => {
    await fill();
    await page.getByRole('button', { name: 'Add filter for issue.updated' }).click();
    const filters = page.getByRole('group', { name: 'Filters of issue.updated' });
    await createButton().click();
    await filters.getByText('Must have at least 1 entry.').waitFor();
    await page.getByText('Fix 1 error above').waitFor();
    assert.equal(await filters.getByLabel('Value').getAttribute('aria-invalid'), 'true');
    assert.deepEqual(await webhooks(), []);
    await filters.getByLabel('Value').fill('Done');
    await filters.getByText('Must have at least 1 entry.').waitFor({ state: 'detached' });
    await createButton().click();
    await page.getByRole('heading', { name: 'api.acme.example' }).waitFor();
    const [created] = await webhooks();
    assert.deepEqual(created?.events[0]?.filters, [{ field: 'status', changed_to: 'Done' }]);
  });

  it('suggests the status of failed deployments, although no event had it yet', async () => {
    await at.go(`${LIST}/new`);
    await page.getByRole('checkbox', { name: 'deployment.completed' }).check();
    await page.getByRole('button', { name: 'Add filter for deployment.completed' }).click();
    await page.getByRole('group', { name: 'Filters of deployment.completed' }).getByLabel('Value').click();
    await page.getByRole('option', { name: 'failed' }).click();
    await page.getByText('would not be sent: status is "succeeded", not "failed"').waitFor();
  });

  it('shows a generated secret once more after saving', async () => {
    await fill();
    const secret = await page.getByRole('textbox', { name: 'New secret' }).inputValue();
    await createButton().click();
    const shown = page.getByRole('region', { name: 'Secret', exact: true });
    await shown.getByText(secret, { exact: true }).waitFor();
    await assertAccessible(page, 'the secret of a new webhook');
    await assertFitsPhone(page);
    await shown.getByRole('button', { name: 'Show verification code' }).click();
    await shown.getByRole('region', { name: 'Signature verification, TypeScript' }).waitFor();
    await shown.getByRole('button', { name: 'Done' }).click();
    await shown.waitFor({ state: 'detached' });
    // The same after a change that replaces the secret. Leaving the page hides it.
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByText('Generate', { exact: true }).click();
    const other = await page.getByRole('textbox', { name: 'New secret' }).inputValue();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await shown.getByText(other, { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('link', { name: 'api.acme.example' }).click();
    await page.getByRole('heading', { name: 'api.acme.example' }).waitFor();
    assert.equal(await shown.count(), 0);
    assert.equal(await page.getByText(other).count(), 0);
  });

  it('asks before changes are discarded', async () => {
    const id = await create();
    const dialog = page.getByRole('dialog', { name: 'Discard changes?' });
    const leave = () => page.getByRole('link', { name: 'Orchestration' }).click();
    await at.go(`${LIST}/${id}/edit`);
    await page.getByLabel('Name').fill('Changed');
    await leave();
    await assertAccessible(page, 'the dialog before changes are discarded', DIALOG);
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Name').inputValue(), 'Changed');
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    assert.equal(question.type(), 'beforeunload');
    await question.dismiss();
    await page.getByLabel('Name').fill('Billing');
    await leave();
    await page.waitForURL('**/orchestration');
    await page.goBack();
    await page.getByLabel('Name').fill('Changed');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'Billing', exact: true }).waitFor();
  });

  it('creates one webhook if it is submitted twice, or again after a lost response', async () => {
    await fill();
    let requests = 0;
    await page.route('**/api/v1/webhooks', async (route) => {
      if (route.request().method() !== 'POST') return await route.continue();
      requests += 1;
      if (requests > 1) return await route.continue();
      await route.fetch();
      return await route.abort('internetdisconnected');
    });
    await createButton().click();
    await page.getByText('Cannot reach the server.').waitFor();
    assert.equal((await webhooks()).length, 1);
    await createButton().dblclick();
    await page.getByRole('heading', { name: 'api.acme.example' }).waitFor();
    assert.equal((await webhooks()).length, 1);
    assert.equal(requests, 2);
  });
});
