import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { assertAccessible, assertFitsPhone, picture, useScreens } from './screens.ts';

const WEBHOOKS = '/settings/integrations/webhooks';

describe('the screens', () => {
  const receiver = useReceiver();
  const world = useWorld();
  const at = useScreens(world);
  let page: Page;
  beforeEach(() => void ({ page } = at));

  const submit = async (title: string, rehearsal: object, metadata: object = {}): Promise<string> => {
    const body = { title, task_type: 'bug', metadata: { rehearsal, ...metadata } };
    return (await world.submit(body)).json.execution_id;
  };
  const rows = () => page.locator('[data-run]');
  const row = (title: string) => rows().filter({ hasText: title });
  const lists = async (...titles: string[]) =>
    await eventually(`the list shows ${titles.join(', ')}`, async () => {
      const shown = await rows().locator('a').allTextContents();
      return JSON.stringify(shown) === JSON.stringify(titles);
    });

  before(async () => {
    await submit('Add CSV export', {}, { order: 'A-4711' });
    const asking = await submit('Ask first', { ask: { step: 2, question: 'May I?' } });
    const failed = await submit('Fix the sum', { unrecoverable: { step: 1 } });
    await Promise.all([world.reaches(asking, 'paused'), world.reaches(failed, 'failed')]);
  });

  it('find runs by words, submitter, days and need, with all filters in the URL', async () => {
    await at.go('/orchestration');
    await lists('Fix the sum', 'Ask first', 'Add CSV export');
    await row('Fix the sum')
      .getByText(/: step 1 is scripted to be unrecoverable$/)
      .waitFor();
    assert.equal(await row('Ask first').getByRole('progressbar').count(), 1);
    assert.equal(await row('Fix the sum').getByRole('progressbar').count(), 0);
    const widthOf = async (selector: string) =>
      (await page.locator(selector).first().boundingBox())?.width ?? 0;
    assert.ok((await widthOf('[data-run] a')) > (await widthOf('table')) * 0.35, 'the title has the width');
    await page.getByLabel('Search by title, ID or metadata').fill('a-4711');
    await lists('Add CSV export');
    await page.waitForURL('**/orchestration?text=a-4711');
    await page.reload();
    await lists('Add CSV export');
    await page.getByLabel('Submitter').selectOption('Me');
    await page.getByText('No matching runs').waitFor();
    await assertAccessible(page, 'a search without results');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await lists('Fix the sum', 'Ask first', 'Add CSV export');
    assert.equal(await page.getByLabel('Search by title, ID or metadata').inputValue(), '');
    // The filters stay under the pointer.
    await page.setViewportSize({ width: 1440, height: 900 });
    const before = await page.getByRole('button', { name: 'Needs me' }).boundingBox();
    await page.getByRole('button', { name: 'Needs me' }).click();
    await lists('Ask first');
    assert.deepEqual(await page.getByRole('button', { name: 'Needs me' }).boundingBox(), before);
    await page.setViewportSize({ width: 1280, height: 900 });
    await row('Ask first').getByText('waiting for an answer').waitFor();
    await page.waitForURL('**/orchestration?needs=me');
    await page.getByLabel('Time').selectOption('Days…');
    await page.getByLabel('From', { exact: true }).fill('2026-01-31');
    await page.getByLabel('To', { exact: true }).fill('2026-02-01');
    await page.waitForURL('**/orchestration?needs=me&from=2026-01-31&to=2026-02-01');
    await page.getByText('No matching runs').waitFor();
    await page.getByLabel('Time').selectOption('Last hour');
    await lists('Ask first');
    await assertAccessible(page, 'a filtered list');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('button', { name: 'Error', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Step failed' }).check();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Error: Step failed' }).waitFor();
    await page.waitForURL('**/orchestration?error=step_failed');
    await lists('Fix the sum');
    await assertFitsPhone(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await eventually('the title has the width of a phone', async () => (await widthOf('[data-run] a')) > 250);
    await page.setViewportSize({ width: 1280, height: 900 });
    await picture(page, 'runs-filtered');
  });

  it('can be used with the keyboard', async () => {
    await at.go('/orchestration');
    await row('Add CSV export').waitFor();
    await page.keyboard.press('j');
    await row('Fix the sum').locator('a:focus').waitFor();
    await page.keyboard.press('j');
    await row('Ask first').locator('a:focus').waitFor();
    await page.keyboard.press('k');
    await row('Fix the sum').locator('a:focus').waitFor();
    await page.keyboard.press('Enter');
    const panel = page.getByRole('complementary', { name: 'Run' });
    await panel.getByRole('heading', { name: 'Fix the sum' }).waitFor();
    await page.keyboard.press('j');
    await panel.getByRole('heading', { name: 'Ask first' }).waitFor();
    await page.keyboard.press('k');
    await panel.getByRole('heading', { name: 'Fix the sum' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('csv j?');
    await page.waitForURL('**/orchestration?text=csv+j%3F');
    await page.keyboard.press('Tab');
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Search everything').waitFor();
    await assertAccessible(page, 'the keyboard shortcuts');
    await picture(page, 'shortcuts');
    await help.getByLabel('Single-key shortcuts').uncheck();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('combobox', { name: 'Search everything' });
    await palette.fill('shortcuts');
    await page.keyboard.press('Enter');
    await help.waitFor();
    assert.equal(await help.getByLabel('Single-key shortcuts').isChecked(), false);
  });

  it('find runs, webhooks, deliveries, pages and actions in the palette', async () => {
    const events = [{ event: 'issue.created' }];
    const body = { name: 'Billing sync', url: receiver.url, events };
    const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body });
    const event = { event: 'issue.created', data: sampleData('issue.created') };
    await world.send('POST', '/api/v1/events', { body: event });
    await receiver.receives(1);
    const palette = page.getByRole('combobox', { name: 'Search everything' });
    const option = (name: string | RegExp) => page.getByRole('option', { name });
    const search = async (text: string) => {
      await page.keyboard.press('Control+k');
      await palette.fill(text);
    };
    await at.go('/settings/projects');
    await page.getByRole('button', { name: 'Search everything' }).click();
    await option('Show runs that need me').waitFor();
    await option(/^Fix the sum/).waitFor();
    await option(/^Ask first.*waiting for an answer/).waitFor();
    await assertAccessible(page, 'the palette');
    await page.keyboard.press('Control+k');
    await palette.waitFor({ state: 'detached' });
    await search('export');
    await option(/^Add CSV export/).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/orchestration\/[0-9a-f-]{36}$/);
    await search('bill');
    await option(/^Billing sync/).click();
    await page.waitForURL(`**${WEBHOOKS}/${webhook.id}`);
    await search('shop-142');
    await option(/^SHOP-142 The cart forgets its coupon/).waitFor();
    await picture(page, 'palette');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/deliveries\/[0-9a-f-]{36}$/);
    const delivery = page.url().split('/').at(-1) ?? '';
    await search(delivery);
    await option(/^SHOP-142/).waitFor();
    await palette.fill('nothing at all');
    await page.getByText('No results for “nothing at all”').waitFor();
    await palette.fill('audit');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/settings/audit-log');
    await search('submit');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Submit task' }).waitFor();
    await page.waitForURL('**/orchestration?submit=yes');
    // A form is not left by accident.
    await page.keyboard.press('Control+k');
    assert.equal(await palette.count(), 0);
    await page.keyboard.press('Escape');
    await page.waitForURL('**/orchestration');
  });

  it('cancel and rerun the selected runs after one question, and report what failed', async () => {
    const ended = await submit('Bulk ended', {});
    const active = await submit('Bulk active', { step_ms: 60_000 });
    const asking = await submit('Bulk asking', { ask: { step: 2, question: 'May I?' } });
    await Promise.all([
      world.reaches(ended, 'completed'),
      world.reaches(active, 'executing'),
      world.reaches(asking, 'paused'),
    ]);
    await at.go('/orchestration?text=bulk');
    await lists('Bulk asking', 'Bulk active', 'Bulk ended');
    const before = await rows().first().boundingBox();
    await page.getByLabel('Select all listed runs').check();
    const bar = page.getByRole('region', { name: 'Selected runs' });
    await bar.getByText('3 selected').waitFor();
    assert.deepEqual(await rows().first().boundingBox(), before);
    await assertAccessible(page, 'selected runs');
    await assertFitsPhone(page);
    await picture(page, 'runs-selected');
    await bar.getByRole('button', { name: 'Cancel 2…' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel 2 runs?' });
    await question.getByText('1 selected run is left out: already ended.').waitFor();
    await question.getByRole('button', { name: 'Keep running' }).click();
    await question.waitFor({ state: 'detached' });
    await bar.getByRole('button', { name: 'Cancel 2…' }).click();
    await question.waitFor();
    await world.send('POST', `/api/v1/tasks/${asking}/continue`, { body: { reason: 'yes' } });
    await world.reaches(asking, 'completed');
    await question.getByRole('button', { name: 'Cancel 2 runs' }).click();
    const result = page.getByRole('dialog', { name: '1 run cancelled' });
    await result.getByText('1 run failed').waitFor();
    await result.getByText('Bulk asking: The run is completed').waitFor();
    await assertAccessible(page, 'the result for many runs');
    await page.keyboard.press('Escape');
    await bar.waitFor({ state: 'detached' });
    await page.locator('[data-select-all]:focus').waitFor();
    await world.reaches(active, 'cancelled');
    const earlier = { title: 'Bulk earlier', metadata: { rehearsal: {} } };
    await world.submit(earlier, world.as(await world.signIn()));
    await page.getByLabel('Select Bulk ended').check();
    await bar.getByRole('button', { name: 'Rerun 1…' }).click();
    const again = page.getByRole('dialog', { name: 'Rerun 1 run?' });
    await again.getByRole('button', { name: 'Rerun 1 run' }).click();
    const started = page.getByRole('dialog', { name: '1 run started' });
    await started.getByRole('button', { name: 'Show new runs' }).click();
    await page.waitForURL(/\/orchestration\?by=me&since=[^&]+$/);
    await lists('Bulk ended');
    await row('Bulk ended').getByText('Rerun', { exact: true }).waitFor();
  });

  it('cancel and rerun all runs that match the filters, after their numbers are shown', async () => {
    const ended = await submit('Every ended', {});
    const active = [
      await submit('Every first', { step_ms: 60_000 }),
      await submit('Every second', { step_ms: 60_000 }),
    ];
    await world.reaches(ended, 'completed');
    for (const id of active) await world.reaches(id, 'executing');
    await at.go('/orchestration?text=every');
    await page.getByLabel('Select Every ended').check();
    const bar = page.getByRole('region', { name: 'Selected runs' });
    const dialog = page.getByRole('dialog', { name: 'All matching runs' });
    const ask = async () => {
      await bar.getByRole('button', { name: 'All matching runs…' }).click();
      await dialog.getByText('2 active runs can be cancelled, 1 ended run can be rerun.').waitFor();
    };
    await ask();
    await assertAccessible(page, 'all runs that match');
    await assertFitsPhone(page);
    await picture(page, 'runs-matching');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await ask();
    await dialog.getByRole('button', { name: 'Rerun 1 run' }).click();
    await page
      .getByRole('dialog', { name: '1 run started' })
      .getByRole('button', { name: 'Close' })
      .last()
      .click();
    await lists('Every ended', 'Every second', 'Every first', 'Every ended');
    const { json: newest } = await world.send('GET', '/api/v1/tasks?q=every');
    await world.reaches(newest.data[0].execution_id, 'completed');
    await bar.getByRole('button', { name: 'All matching runs…' }).click();
    await dialog.getByRole('button', { name: 'Cancel 2 runs' }).click();
    await page.getByRole('dialog', { name: '2 runs cancelled' }).waitFor();
    for (const id of active) await world.reaches(id, 'cancelled');
  });
});
