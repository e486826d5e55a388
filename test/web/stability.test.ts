import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { eventually } from '../support/eventually.ts';
import { newRunRow } from '../support/run-row.ts';
import { useOwnWorld } from '../support/world.ts';
import { useScreens } from './screens.ts';
import { withHistory } from './webhook-history.ts';

/** More than fit on the page. */
const ROWS = 24;
/** Rows of the first page of a list. */
const PAGE_OF_LIST = 50;
/** Positions are rounded to pixels. */
const ROUNDING_PX = 1;
const HEADER_PX = 52;

describe('a list beside its details', () => {
  const world = useOwnWorld({ worker: false });
  const at = useScreens(world);
  let page: Page;
  beforeEach(() => void ({ page } = at));

  const topOf = async (row: Locator): Promise<number> => {
    const box = await row.boundingBox();
    assert.ok(box);
    return box.y;
  };
  /** Opens the row in the middle of a list, walks down and up, and closes. */
  const walk = async (rows: Locator, panel: Locator) => {
    await eventually('all rows are listed', async () => (await rows.count()) === ROWS);
    assert.ok(await page.evaluate<boolean>('document.documentElement.scrollHeight > innerHeight'));
    const row = rows.nth(ROWS / 2);
    await row.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const before = await topOf(row);
    await row.getByRole('link').click();
    await panel.waitFor();
    await assertAt(row, before, 'after it was opened');
    const open = page.locator('[data-open]');
    for (let step = 1; step < ROWS / 2; step += 1) {
      await page.keyboard.press('ArrowDown');
      await rows
        .nth(ROWS / 2 + step)
        .and(open)
        .waitFor();
      await assertVisible(open);
    }
    for (let step = 1; step < ROWS; step += 1) {
      await page.keyboard.press('ArrowUp');
      await rows
        .nth(ROWS - 1 - step)
        .and(open)
        .waitFor();
      await assertVisible(open);
    }
    const first = rows.first();
    const last = await topOf(first);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await assertAt(first, last, 'after it was closed');
    await first.locator('a:focus').waitFor();
  };
  const assertAt = (row: Locator, y: number, when: string) =>
    eventually(
      `the row is where it was ${when}`,
      async () => Math.abs((await topOf(row)) - y) <= ROUNDING_PX,
    );
  const assertVisible = (row: Locator) =>
    eventually('the open row is visible', async () => {
      const box = await row.boundingBox();
      return box !== null && box.y >= HEADER_PX && box.y + box.height <= (page.viewportSize()?.height ?? 0);
    });

  it('stays where it is among runs, and takes the focus back', async () => {
    for (let count = 0; count < ROWS; count += 1) {
      await insertRun(world.database, newRunRow(world.installation));
    }
    await world.database.em
      .fork()
      .execute(`update task_runs set state = 'completed', started_at = now(), completed_at = now()`);
    await at.go('/orchestration');
    await walk(page.locator('[data-run]'), page.getByRole('complementary', { name: 'Run' }));
  });

  it('appears together with the checklist of a new workspace, which is above it', async () => {
    for (let count = ROWS; count <= PAGE_OF_LIST; count += 1)
      await insertRun(world.database, newRunRow(world.installation));
    const listed = page.waitForResponse(/\/api\/v1\/tasks\?/);
    const pages: string[] = [];
    page.on('request', (request) => {
      if (/\/api\/v1\/tasks\?.*cursor=/.test(request.url())) pages.push(request.url());
    });
    const early: number[] = [];
    await page.route(/\/api\/v1\/keys/, async (route) => {
      await (await listed).finished();
      for (let frame = 0; frame < 10; frame += 1) await page.evaluate('new Promise(requestAnimationFrame)');
      early.push(pages.length);
      await route.continue();
    });
    await at.go('/orchestration');
    await page.locator('[data-run]').first().waitFor();
    assert.ok(await page.getByRole('heading', { name: 'Setup' }).isVisible());
    assert.deepEqual(
      new Set(early),
      new Set([0]),
      'its end does not appear before it, which would load the next page',
    );
  });

  it('lays out only rows near the viewport, and keeps the focus while it grows', async () => {
    for (let count = PAGE_OF_LIST; count <= 2 * PAGE_OF_LIST; count += 1)
      await insertRun(world.database, newRunRow(world.installation));
    await page.setViewportSize({ width: 1280, height: 500 });
    await at.go('/orchestration');
    const rows = page.locator('[data-run]');
    const isLaidOut = (row: Locator) =>
      row.evaluate((element) => element.checkVisibility({ contentVisibilityAuto: true }));
    await rows.first().waitFor();
    const total = 2 * PAGE_OF_LIST + 2;
    await eventually('all pages are loaded', async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      return (await rows.count()) === total;
    });
    const focused = rows.nth(2 * PAGE_OF_LIST);
    await focused.locator('a').focus();
    for (let step = 1; step <= 3; step += 1) await page.keyboard.press('k');
    await rows
      .nth(2 * PAGE_OF_LIST - 3)
      .locator('a:focus')
      .waitFor();
    await eventually('rows far away are skipped', async () => !(await isLaidOut(rows.first())));
    assert.ok(await isLaidOut(focused));
    await insertRun(world.database, newRunRow(world.installation));
    await eventually('the new run is listed', async () => (await rows.count()) === total + 1);
    await rows
      .nth(2 * PAGE_OF_LIST - 2)
      .locator('a:focus')
      .waitFor();
    await rows.first().scrollIntoViewIfNeeded();
    await eventually('the first row is laid out', () => isLaidOut(rows.first()));
  });

  it('has the code of its details before they are opened', async () => {
    const loaded = page.waitForResponse(/\/run-panel[^/]*\.js$/);
    await at.go('/orchestration');
    await loaded;
    assert.equal(await page.getByRole('complementary', { name: 'Run' }).count(), 0);
  });

  it('stays where it is in the log of a webhook, and takes the focus back', async () => {
    const body = {
      name: 'Billing',
      url: 'https://api.acme.example/hooks',
      events: [{ event: 'issue.created' }],
    };
    const { json } = await world.send('POST', '/api/v1/webhooks', { body });
    await withHistory(world, json.id, [{ ago: 1, succeeded: ROWS, failed: 0, tookMs: 10 }]);
    await at.go(`/settings/integrations/webhooks/${json.id}`);
    await page.getByRole('img', { name: /in the last 24 hours succeeded/ }).waitFor();
    await walk(page.locator('[data-delivery]'), page.getByRole('complementary', { name: 'Delivery' }));
  });
});
