import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { PASSWORD, useWorld } from '../support/world.ts';
import { useScreens } from './screens.ts';

/** More than any screen has to pass. */
const MAX_TABS = 150;
const EVENTS = 12;

describe('with the keyboard alone', () => {
  const world = useWorld();
  const at = useScreens(world, { cookie: null });
  const { receiver, publish } = useWebhooks(world);
  let page: Page;
  beforeEach(() => void ({ page } = at));

  /** Presses Tab until an element has the focus. */
  const reach = async (target: Locator) => {
    await target.waitFor();
    for (let tabs = 0; tabs <= MAX_TABS; tabs += 1) {
      if (await target.evaluate((element) => element.matches(':focus'))) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not reach ${target.toString()}`);
  };
  const press = async (target: Locator, key = 'Enter') => {
    await reach(target);
    await page.keyboard.press(key);
  };
  const type = async (name: string, text: string) => {
    await reach(page.getByRole('textbox', { name, exact: true }));
    await page.keyboard.type(text);
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name, exact: true });

  it('a person signs in, creates a webhook, repairs it, answers a run and reruns it', async () => {
    receiver.answering(500);
    await at.go('/sign-in');
    await type('E-mail address', world.installation.admin_email);
    await reach(page.getByLabel('Password', { exact: true }));
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');

    await press(link('Webhooks'));
    await press(link('Create webhook'));
    await type('URL', receiver.url);
    await type('Name', 'Billing sync');
    await press(page.getByRole('checkbox', { name: 'issue.created' }), 'Space');
    await press(button('Create and send test event'));
    await page.getByText('Test failed').waitFor();

    for (let count = 0; count < EVENTS; count += 1) await publish();
    await page.getByText('Webhook disabled').waitFor();
    const log = page.getByRole('list', { name: 'Deliveries' });
    await press(log.getByRole('listitem').filter({ hasText: 'held' }).first().getByRole('link'));
    const panel = page.getByRole('complementary', { name: 'Delivery' });
    await panel.getByText('Enable the webhook, then recover its deliveries.').waitFor();
    await page.keyboard.press('Escape');

    receiver.answering(200);
    await press(button('1 · Send test event'));
    await press(button('Send'));
    await page.getByText('Test succeeded').waitFor();
    await press(button('2 · Enable'));
    await press(button(/^Recover \d+ deliveries$/));
    await press(button(`Send ${EVENTS} deliveries`));
    await eventually(
      'all deliveries have succeeded',
      async () => (await log.getByRole('listitem').filter({ hasText: 'succeeded' }).count()) >= EVENTS,
    );

    await press(link('Orchestration'));
    await press(button('Submit task').first());
    await type('Title', 'Change the price list');
    await type('Metadata', '{ "rehearsal": { "steps": 2, "ask": { "step": 2, "question": "With tax?" } } }');
    await press(page.getByRole('dialog').getByRole('button', { name: 'Submit task' }));
    await page.getByRole('heading', { name: /asks: With tax\?/ }).waitFor();
    await type('Your answer', 'Without tax');
    await press(button('Answer and continue'));
    await page.getByText('2 of 2 steps').first().waitFor();
    await press(button('Rerun…'));
    await press(button('Rerun'));
    await link('an earlier run').waitFor();
  });
});
