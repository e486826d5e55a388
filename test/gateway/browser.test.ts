import assert from 'node:assert/strict';
import { openPage, withPage } from '../support/browser.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

describe('the test browser', function () {
  let site: Receiver;
  before(async () => {
    site = await startReceiver();
    site.answering((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><title>A page</title><script>console.error("a complaint")</script>');
      return undefined;
    });
  });
  after(() => site.close());

  it('opens a page and collects its console errors', async () => {
    await withPage(async (page, errors) => {
      await page.goto(site.url);
      assert.equal(await page.title(), 'A page');
      assert.match(errors.join('\n'), /a complaint/);
    });
  });

  it('starts each page without data of another', async () => {
    const first = await openPage();
    await first.page.goto(site.url);
    await first.page.evaluate(`localStorage.setItem('seen', 'yes'); document.cookie = 'seen=yes'`);
    const second = await openPage();
    await second.page.goto(site.url);
    assert.equal(await second.page.evaluate(`localStorage.getItem('seen') ?? document.cookie`), '');
    await first.close();
    await second.close();
  });
});
