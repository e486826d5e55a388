import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { startPopulatedWorkspace, type PopulatedWorkspace } from './populated-workspace.ts';
import { assertAccessible, assertFitsPhone, openScreens, picture, type ScreensPage } from './screens.ts';

/** One screen: a page, or a dialog on it. */
type Screen = {
  what: string;
  /** The path of the route. */
  address: string;
  /** Its path in the populated workspace; `address` by default. */
  path?: (at: PopulatedWorkspace) => string | Promise<string>;
  /** The element that shows that the screen is ready. */
  shows: (page: Page) => Locator;
  /** Opens a dialog or tab before the check. */
  open?: (page: Page) => Promise<unknown>;
  signedOut?: true;
  /** The name of its screenshots. */
  picture?: string;
};

const heading = (name: string | RegExp) => (page: Page) => page.getByRole('heading', { name });
const text = (words: string | RegExp) => (page: Page) => page.getByText(words).first();
const RUN = '/orchestration/$executionId';
const WEBHOOKS = '/settings/integrations/webhooks';
const tab = (name: RegExp) => (page: Page) => page.getByRole('tab', { name }).click();
const runOf = (state: keyof PopulatedWorkspace['runs']) => (at: PopulatedWorkspace) =>
  `/orchestration/${at.runs[state]}`;

const SCREENS: readonly Screen[] = [
  { what: 'signing in', address: '/sign-in', shows: heading('Sign in'), signedOut: true, picture: 'sign-in' },
  {
    what: 'an invitation',
    address: '/invitation',
    path: (at) => `/invitation#${at.invitation}`,
    shows: heading('Join Acme'),
    signedOut: true,
    picture: 'invitation',
  },
  {
    what: 'an unknown invitation',
    address: '/invitation',
    path: () => '/invitation#nothing',
    shows: text('The invitation does not exist'),
    signedOut: true,
  },
  { what: 'all runs', address: '/orchestration', shows: text('Speed up the search'), picture: 'runs' },
  {
    what: 'a run next to the list',
    address: '/orchestration',
    path: (at) => `/orchestration?run=${at.runs.completed}`,
    shows: (page) => page.getByRole('complementary', { name: 'Run' }).getByText('3 of 3 steps').first(),
    picture: 'run-beside-list',
  },
  {
    what: 'the form of a task',
    address: '/orchestration',
    shows: text('Speed up the search'),
    async open(page) {
      await page.getByRole('button', { name: 'Submit task' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Title').fill('Add CSV export to orders');
      await dialog.getByLabel('Description').fill('Buyers want their orders in a table.');
      await dialog.getByLabel('Callback URL').fill('https://ci.acme.example/told');
    },
    picture: 'submit',
  },
  {
    what: 'the notifications',
    address: '/orchestration',
    shows: (page) => page.getByRole('button', { name: /^Notifications, \d+ unread/ }),
    async open(page) {
      await page.getByRole('button', { name: /^Notifications/ }).click();
      await page.getByText('needs your decision').first().waitFor();
    },
    picture: 'bell',
  },
  {
    what: 'the menu of a person',
    address: '/orchestration',
    shows: text('Speed up the search'),
    open: (page) => page.getByRole('button', { name: /^Account of/ }).click(),
  },
  {
    what: 'an executing run',
    address: RUN,
    path: async (at) => `/orchestration/${await at.submit('Add CSV export to orders', { step_ms: 60_000 })}`,
    shows: (page) => page.getByRole('tab', { name: /^Events \(\d/ }),
    picture: 'run-executing',
  },
  {
    what: 'a paused run',
    address: RUN,
    path: runOf('paused'),
    shows: text('Paused by'),
    open: (page) => page.getByRole('tab', { name: /^Events \(/ }).waitFor(),
    picture: 'run-paused',
  },
  {
    what: 'a run with a question',
    address: RUN,
    path: runOf('asking'),
    shows: heading(/asks: May I/),
    open: tab(/^Messages \(1\)/),
    picture: 'run-asks',
  },
  {
    what: 'a failed run',
    address: RUN,
    path: runOf('failed'),
    shows: heading(/^Step .* failed/),
    picture: 'run-failed',
  },
  {
    what: 'an escalated run',
    address: RUN,
    path: runOf('escalated'),
    shows: heading(/^Needs your decision/),
    picture: 'run-escalated',
  },
  {
    what: 'a cancelled run',
    address: RUN,
    path: runOf('cancelled'),
    shows: heading('Try the other payment provider'),
  },
  {
    what: 'a completed run',
    address: RUN,
    path: runOf('completed'),
    shows: text('3 of 3 steps'),
    picture: 'run-completed',
  },
  {
    what: 'an unknown run',
    address: RUN,
    path: () => '/orchestration/00000000-0000-7000-8000-000000000000',
    shows: text('could not be loaded'),
  },
  { what: 'all webhooks', address: WEBHOOKS, shows: text('Billing sync') },
  { what: 'the form of a webhook', address: `${WEBHOOKS}/new`, shows: (page) => page.getByLabel('URL') },
  {
    what: 'the form of an existing webhook',
    address: `${WEBHOOKS}/$webhookId/edit`,
    path: (at) => `${WEBHOOKS}/${at.webhook}/edit`,
    shows: (page) => page.getByLabel('URL'),
  },
  {
    what: 'a webhook',
    address: `${WEBHOOKS}/$webhookId`,
    path: (at) => `${WEBHOOKS}/${at.webhook}`,
    shows: (page) => page.getByRole('list', { name: 'Deliveries' }),
  },
  {
    what: 'a disabled webhook',
    address: `${WEBHOOKS}/$webhookId`,
    path: (at) => `${WEBHOOKS}/${at.disabledWebhook}`,
    shows: text('Webhook disabled'),
  },
  {
    what: 'the test panel',
    address: `${WEBHOOKS}/$webhookId`,
    path: (at) => `${WEBHOOKS}/${at.webhook}?test=yes`,
    shows: (page) => page.getByRole('region', { name: 'Request preview' }),
  },
  {
    what: 'a delivery next to the log',
    address: `${WEBHOOKS}/$webhookId`,
    path: (at) => `${WEBHOOKS}/${at.webhook}?delivery=${at.delivery}`,
    shows: text('Delivered:'),
  },
  {
    what: 'a delivery',
    address: `${WEBHOOKS}/$webhookId/deliveries/$deliveryId`,
    path: (at) => `${WEBHOOKS}/${at.webhook}/deliveries/${at.delivery}`,
    shows: text('Delivered:'),
  },
  {
    what: 'the API keys',
    address: '/settings/api-keys',
    shows: text('Shop backend'),
    picture: 'api-keys',
  },
  {
    what: 'the members',
    address: '/settings/members',
    shows: text('linus@example.com'),
    picture: 'members',
  },
  { what: 'the agents', address: '/settings/agents', shows: heading('Teams'), picture: 'agents' },
  { what: 'the projects', address: '/settings/projects', shows: text('Warehouse'), picture: 'projects' },
  {
    what: 'the source addresses',
    address: '/settings/source-addresses',
    shows: text('203.0.113.7/32'),
    picture: 'source-addresses',
  },
  {
    what: 'the audit log',
    address: '/settings/audit-log',
    shows: text('created a webhook'),
    picture: 'audit-log',
  },
  { what: 'the account', address: '/settings/account', shows: text('this session'), picture: 'account' },
  {
    what: 'an unknown address below a run',
    address: '/no-such-place',
    path: (at) => `/orchestration/${at.runs.completed}/nothing`,
    shows: heading('Page not found'),
  },
  {
    what: 'an unknown address',
    address: '/no-such-place',
    shows: heading('Page not found'),
  },
];

/** The largest sum of layout shifts while a screen loads, without those that follow an input. */
const MAX_LAYOUT_SHIFT = 0.02;
const SUM_LAYOUT_SHIFTS = `(() => {
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) layoutShift += value;
  }).observe({ type: 'layout-shift', buffered: true });
})()`;

describe('the screen', () => {
  let at: PopulatedWorkspace;
  let signedIn: ScreensPage;
  let signedOut: ScreensPage;
  before(async () => {
    at = await startPopulatedWorkspace();
    signedIn = await openScreens(at.world, { cookie: at.cookie });
    signedOut = await openScreens(at.world, { cookie: null });
    for (const { page } of [signedIn, signedOut]) await page.addInitScript(SUM_LAYOUT_SHIFTS);
  });
  after(async () => {
    await Promise.all([signedIn?.close(), signedOut?.close()]);
    await at?.close();
  });

  it('list includes every route', () => {
    const listed = new Set(SCREENS.map(({ address }) => address));
    listed.delete('/no-such-place');
    assert.deepEqual([...listed].toSorted(), addressesOfPages().toSorted());
  });

  for (const screen of SCREENS) {
    it(`of ${screen.what} is accessible in light and dark, fits a phone, and does not move while it loads`, async () => {
      const { page, go, isLoaded, errors } = screen.signedOut ? signedOut : signedIn;
      const before = errors().length;
      // The browser would not reload a URL that differs only in its hash.
      if (screen.signedOut) await page.goto('about:blank');
      await go((await screen.path?.(at)) ?? screen.address);
      await screen.shows(page).waitFor();
      await isLoaded();
      if (screen.open) await assertStayed(page);
      await screen.open?.(page);
      if (screen.picture) await picture(page, screen.picture);
      await assertAccessible(page, screen.what);
      // After these checks, which take time, so that late shifts count.
      if (!screen.open) await assertStayed(page);
      await assertFitsPhone(page);
      assert.deepEqual(errors().slice(before), []);
    });
  }

  it('of a run is accessible in each tab', async () => {
    const { page, go } = signedIn;
    await go(`/orchestration/${at.runs.completed}`);
    for (const name of [
      'Messages',
      'Output',
      'Documents',
      'Calls',
      'Errors',
      'Callback',
      'Events',
      'Request',
    ]) {
      await tab(new RegExp(`^${name}`))(page);
      const panel = page.getByRole('tabpanel', { name: new RegExp(`^${name}`) });
      await panel.waitFor();
      await assertAccessible(page, name, '[role=tabpanel]');
      await assertFitsPhone(page);
    }
  });
});

async function assertStayed(page: Page): Promise<void> {
  const moved = await page.evaluate<number>('globalThis.layoutShift');
  assert.ok(moved <= MAX_LAYOUT_SHIFT, `layout shift ${moved}`);
}

/** Returns the addresses that the routes declare. All other addresses redirect to one of them. */
function addressesOfPages(): string[] {
  const folder = fileURLToPath(new URL('../../web/pages', import.meta.url));
  return globSync(`${folder}/*/{route,routes}.ts`).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^ +path: '([^']+)'/gm)].map(([, path = '']) => path),
  );
}
