import assert from 'node:assert/strict';
import type { Page, WebSocketRoute } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { useScreens } from './screens.ts';

describe('a run in the browser', () => {
  const world = useWorld();
  const at = useScreens(world);

  const submit = async (rehearsal: object = {}) => {
    const { json } = await world.submit({ title: 'Watched', metadata: { rehearsal } });
    return json.execution_id as string;
  };
  /** Submits a run of six steps that waits until {@link answer} is called. */
  const submitWaiting = async () => {
    const id = await submit({ steps: 6, ask: { step: 1, question: 'May I?' }, progress_events: 2 });
    await world.reaches(id, 'paused');
    return id;
  };
  const answer = (id: string) =>
    world.send('POST', `/api/v1/tasks/${id}/continue`, { body: { reason: 'yes' } });
  const seen = async (page: Page) => {
    await page.getByRole('tab', { name: /^Events/ }).click();
    const numbers = await page
      .getByRole('tabpanel')
      .locator('li > span:nth-child(2) > span')
      .allTextContents();
    return numbers.map(Number).toReversed();
  };
  const assertAllShown = async (page: Page, id: string) => {
    const { json } = await world.send('GET', `/api/v1/tasks/${id}`);
    await page.getByRole('tab', { name: `Events (${json.last_seq})` }).waitFor();
    assert.deepEqual(
      await seen(page),
      Array.from({ length: json.last_seq }, (_, index) => index + 1),
    );
  };

  it('shows every event once and in order after each lost connection', async () => {
    const { page } = at;
    let connections = 0;
    let joins = 0;
    await page.routeWebSocket(/\/ws\?/, (socket) => {
      const connection = ++connections;
      let known = 0;
      const server = socket.connectToServer();
      server.onMessage((message) => {
        const { type, last_seq, event } = JSON.parse(String(message));
        if (type === 'joined') known = last_seq;
        // The events before the join arrive. The first event after it is dropped, and the connection is closed.
        if (type === 'event' && event.seq > known && connection <= 3) void socket.close({ code: 4000 });
        else socket.send(message);
        if (type === 'joined') joins += 1;
      });
    });
    const id = await submit({ steps: 1, step_ms: 60_000 });
    await world.reaches(id, 'executing');
    await at.go(`/orchestration/${id}`);
    for (const [index, request] of ['pause', 'continue', 'pause', 'cancel'].entries()) {
      await eventually('the page has joined again', () => joins === index + 1);
      await world.send('POST', `/api/v1/tasks/${id}/${request}`);
    }
    await page.getByText('cancelled', { exact: true }).first().waitFor();
    assert.equal(connections, 4);
    await assertAllShown(page, id);
  });

  for (const [blocked, status] of [
    [['channel'], 'live'],
    [['channel', 'streams'], 'updates every second'],
  ] as const) {
    it(`uses another transport if these are blocked: ${blocked.join(', ')}`, async () => {
      const { page } = at;
      await page.routeWebSocket(/\/ws\?/, (socket) => void socket.close({ code: 4000 }));
      await page.route(/\/events\?/, async (route, request) => {
        const isStream = (await request.headerValue('accept')) === 'text/event-stream';
        if (isStream && blocked.includes('streams' as never)) await route.fulfill({ body: 'A login page' });
        else await route.continue();
      });
      const id = await submitWaiting();
      await at.go(`/orchestration/${id}`);
      await page.getByText(status, { exact: true }).waitFor();
      await answer(id);
      await page.getByText('6 of 6 steps').first().waitFor();
      await assertAllShown(page, id);
    });
  }

  it('recovers after a lost network', async () => {
    const { page } = at;
    const channels: WebSocketRoute[] = [];
    await page.routeWebSocket(/\/ws\?/, (socket) => {
      socket.connectToServer();
      channels.push(socket);
    });
    const id = await submitWaiting();
    await at.go(`/orchestration/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    // A response that arrives later would show that there is a connection.
    await page.waitForLoadState('networkidle');
    await page.context().setOffline(true);
    await page.getByText('not updated', { exact: true }).waitFor();
    for (const channel of channels) await channel.close();
    await answer(id);
    await world.reaches(id, 'completed');
    assert.equal(await page.getByText('6 of 6 steps').count(), 0, 'no event arrives without a network');
    await page.context().setOffline(false);
    await page.getByText('6 of 6 steps').first().waitFor();
    await assertAllShown(page, id);
  });

  it('can be switched with the arrow keys and closed with Escape', async () => {
    const { page } = at;
    const [older, newer] = [await submit(), await submit()];
    await at.go(`/orchestration?run=${newer}`);
    const panel = page.getByRole('complementary', { name: 'Run' });
    await panel.getByText('completed', { exact: true }).first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(`**/orchestration?run=${older}`);
    await page.keyboard.press('ArrowUp');
    await page.waitForURL(`**/orchestration?run=${newer}`);
    await panel.getByRole('link', { name: 'Open full page' }).click();
    await page.waitForURL(`**/orchestration/${newer}`);
    await page.goBack();
    await panel.waitFor();
    // Tabs and tables have keys of their own, but not Escape.
    await panel.getByRole('tab', { name: 'Documents' }).click();
    await page.keyboard.press('Escape');
    await page.waitForURL('**/orchestration');
  });
});
