import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { ensureScreens } from '../dev/launcher/web.ts';
import { launchBrowser } from '../test/support/browser.ts';
import { prepareBaton, type BatonUnderTest } from './support/baton.ts';
import { summarize } from './support/measure.ts';
import { ratio, row, type MetricTable, type Ratio } from './support/results.ts';
import { runBench, type Measurements } from './support/run-bench.ts';
import { analyseTables, seedRows } from './support/seed-rows.ts';
import { createEventClient, startBenchReceiver } from './support/webhook-load.ts';

/*
 * `npm run bench screens [-- <times>] [--quick]` measures in a real browser, by its own clock, how long a click takes to
 * show the next page, how much the layout shifts while a screen loads, and how many frames a second a long list scrolls with.
 */
const MAX_CONTENT_MS = 100;
const MAX_LAYOUT_SHIFT = 0.02;
/** Frames of a list of thousands of rows compared with one of fifty, in the same browser. */
const MIN_FRAMES = 0.9;
const VIEWPORT = { width: 1440, height: 900 };
const TIMEOUT_MS = 60_000;
/** Until the requests of a page have ended. */
const SETTLE_MS = 700;
/** How long the pointer rests on a link before a click. */
const REST_MS = 120;
const WEBHOOK_PATH = '/bench';
const PAGE_OF_LIST = 50;

/** A click. `content`: what the new page itself shows first; `data`: what it shows of the API's response. */
type Visit = { title: string; link: string; content: Shown; data: Shown };
/** An element by its selector, and its text if several have the selector. */
type Shown = { selector: string; text?: string };

const VISITS: readonly Visit[] = [
  menu('Webhooks', 'ul[aria-label=Webhooks] > li'),
  {
    title: 'a webhook',
    link: `ul[aria-label=Webhooks] a:text-is("${WEBHOOK_PATH}")`,
    content: { selector: 'main h1', text: WEBHOOK_PATH },
    data: { selector: '[data-delivery]' },
  },
  {
    title: 'a delivery beside its log',
    link: '[data-delivery]:nth-child(3) a',
    content: { selector: 'aside h2' },
    data: { selector: 'aside ol[aria-label=Timeline] > li' },
  },
  menu('Orchestration', 'tr[data-run]'),
  {
    title: 'a run beside the list',
    link: 'tr[data-run]:nth-child(3) a',
    content: { selector: 'aside h2' },
    data: { selector: 'aside [role=tab]' },
  },
  menu('API keys', 'main table tbody tr'),
  menu('Members', 'main table tbody tr'),
  menu('Audit log', 'main table tbody tr'),
];

/** The screens whose layout shift is measured while they load. */
const LOADED: readonly { title: string; path: string; data: string }[] = [
  { title: 'Orchestration', path: '/orchestration', data: 'tr[data-run]' },
  { title: 'Webhooks', path: '/settings/integrations/webhooks', data: 'ul[aria-label=Webhooks] > li' },
  { title: 'API keys', path: '/settings/api-keys', data: 'main table tbody tr' },
  { title: 'Audit log', path: '/settings/audit-log', data: 'main table tbody tr' },
];

/** A page that is opened by the menu. */
function menu(title: string, rows: string): Visit {
  return {
    title,
    link: `nav a:text-is("${title}")`,
    content: { selector: 'main h1', text: title },
    data: { selector: rows },
  };
}

// Scripts of the page are texts, since they use the browser's globals.
/** Adds the layout shifts that follow no input, and keeps the time of the last click. */
const OBSERVE = `(() => {
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) layoutShift += value;
  }).observe({ type: 'layout-shift', buffered: true });
  addEventListener('click', ({ timeStamp }) => void (globalThis.clickedAt = timeStamp), { capture: true });
  globalThis.nextFrame = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done(performance.now());
    port2.postMessage(null);
  }));
})()`;
/** Starts to wait for a click and what it shows. `shown` resolves with the milliseconds until the frames with both. */
const WATCH = ({ content, data }: Visit) => `(() => {
  const has = ({ selector, text }) => [...document.querySelectorAll(selector)].some(
    (element) => text === undefined || element.textContent === text);
  const [content, data] = ${JSON.stringify([content, data])};
  globalThis.clickedAt = undefined;
  globalThis.shown = (async () => {
    let at;
    const next = async () => {
      at = await nextFrame();
      if (at - clickedAt > ${TIMEOUT_MS}) throw new Error('not shown: ' + JSON.stringify([content, data]));
    };
    do await next(); while (clickedAt === undefined || !has(content));
    const contentMs = at - clickedAt;
    while (!has(data)) await next();
    return [contentMs, at - clickedAt];
  })();
})()`;
/** Scrolls for three seconds, up and down. Returns the frames of a second, and the milliseconds of the longest one. */
const SCROLL = `(async () => {
  const times = [];
  const end = performance.now() + 3000;
  for (let step = 40, at = await nextFrame(); at < end; at = await nextFrame()) {
    times.push(at);
    const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
    // Nearer to the end, the next page would be loaded.
    if (scrollTop + clientHeight >= scrollHeight - 700) step = -40;
    if (scrollTop <= 0) step = 40;
    scrollBy(0, step);
  }
  const frames = times.slice(1).map((time, index) => time - times[index]);
  return [1000 * frames.length / (times.at(-1) - times[0]), Math.max(...frames)];
})()`;

/** Opens a page with a session, in a context without a cache. */
async function openSignedIn(browser: Browser, { url, installation }: BatonUnderTest): Promise<Page> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  context.setDefaultTimeout(TIMEOUT_MS);
  const { admin_email: email, admin_password: password } = installation;
  const response = await fetch(`${url}/api/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: url },
    body: JSON.stringify({ email, password }),
  });
  const [name = '', value = ''] = response.headers.get('set-cookie')?.split(';')[0]?.split('=') ?? [];
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }]);
  await context.addInitScript(OBSERVE);
  return await context.newPage();
}

type Samples = Map<string, { content: number[]; data: number[] }>;

/** Clicks through the screens, and adds the times of each click. */
async function clickThrough(page: Page, samples: Samples): Promise<void> {
  for (const visit of VISITS) {
    const link = page.locator(visit.link).first();
    await link.hover();
    await wait(REST_MS);
    await page.evaluate(WATCH(visit));
    await link.click();
    const [content, data] = await page.evaluate<[number, number]>('shown');
    const times = samples.get(visit.title) ?? { content: [], data: [] };
    samples.set(visit.title, { content: [...times.content, content], data: [...times.data, data] });
    await wait(SETTLE_MS);
  }
}

/** Measures each click in pages that have not been opened before, and then again in the same tab. */
async function measureClicks(browser: Browser, baton: BatonUnderTest, times: number) {
  const [first, again]: [Samples, Samples] = [new Map(), new Map()];
  for (let number = 0; number < times; number += 1) {
    const page = await openSignedIn(browser, baton);
    await page.goto(`${baton.url}/settings/source-addresses`);
    await page.waitForLoadState('networkidle');
    await clickThrough(page, first);
    await clickThrough(page, again);
    await page.context().close();
  }
  return { first, again };
}

type Loads = Map<string, { shift: number[]; content: number[] }>;

/** Loads each screen without a cache: its layout shift, and the time to its first content. */
async function measureLoads(browser: Browser, baton: BatonUnderTest, times: number): Promise<Loads> {
  const loads: Loads = new Map(LOADED.map(({ title }) => [title, { shift: [], content: [] }]));
  for (let number = 0; number < times; number += 1) {
    for (const { title, path, data } of LOADED) {
      const page = await openSignedIn(browser, baton);
      await page.goto(`${baton.url}${path}`);
      await page.locator(data).first().waitFor();
      await page.waitForLoadState('networkidle');
      const [shift, content] = await page.evaluate<[number, number]>(
        `[layoutShift, performance.getEntriesByName('first-contentful-paint')[0].startTime]`,
      );
      loads.get(title)?.shift.push(shift);
      loads.get(title)?.content.push(content);
      await page.context().close();
    }
  }
  return loads;
}

type Scrolls = { rows: number; frames: number; longestMs: number }[];

/** Scrolls the list of runs with fifty rows, and with more and more of them. */
async function measureScrolling(
  browser: Browser,
  baton: BatonUnderTest,
  sizes: readonly number[],
): Promise<Scrolls> {
  const page = await openSignedIn(browser, baton);
  await page.goto(`${baton.url}/orchestration`);
  const rows = page.locator('tr[data-run]');
  await rows.first().waitFor();
  const scrolls: Scrolls = [];
  for (const size of sizes) {
    while ((await rows.count()) < size) {
      const before = await rows.count();
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      await rows.nth(before).waitFor({ state: 'attached' });
    }
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 3)');
    const [frames = Number.NaN, longestMs = Number.NaN] = await page.evaluate<number[]>(SCROLL);
    scrolls.push({ rows: size, frames, longestMs });
  }
  await page.context().close();
  return scrolls;
}

/** Fills the workspace: a webhook with deliveries, and runs. */
async function seed(baton: BatonUnderTest, runs: number): Promise<void> {
  const receiver = await startBenchReceiver();
  const dispatcher = new Agent();
  const key = baton.installation.api_key;
  const events = createEventClient({ url: baton.url, key, receiver: receiver.url }, dispatcher);
  await events.createWebhook(WEBHOOK_PATH);
  for (let number = 0; number < 5; number += 1) {
    await events.publish();
    const body = { title: `Bench ${number}`, project_id: baton.installation.project_id };
    await events.call('POST', '/api/v1/tasks', JSON.stringify(body));
  }
  await receiver.waitForRequests(5, WEBHOOK_PATH);
  const client = new Client({ connectionString: baton.fresh.url });
  await client.connect();
  for (let left = 5; left > 0; await wait(100)) {
    const { rows } = await client.query<{ left: number }>(
      `select 5 - count(*)::integer as left from task_runs where state = 'completed'`,
    );
    left = rows[0]?.left ?? 5;
  }
  await seedRows(client, { runs, deliveries: runs });
  await analyseTables(client);
  await client.end();
  await dispatcher.close();
  receiver.end();
}

function clicksTable(id: string, title: string, samples: Samples): MetricTable {
  const columns = ['content p50', 'content p95', 'data p50', 'data p95'];
  return {
    id,
    title,
    columns: columns.map((column) => ({ title: column, unit: 'ms', digits: 0 })),
    rows: [...samples].map(([screen, { content, data }]) => {
      const [first, second] = [summarize(content), summarize(data)];
      return row(screen, [first.p50, first.p95, second.p50, second.p95]);
    }),
  };
}

function loadsTable(loads: Loads): MetricTable {
  return {
    id: 'loads',
    title: 'A screen loads, without a cache',
    columns: [
      { title: 'first content p50', unit: 'ms', digits: 0 },
      { title: 'layout shift, largest', unit: '', digits: 3 },
    ],
    rows: [...loads].map(([title, { content, shift }]) =>
      row(title, [summarize(content).p50, Math.max(...shift)]),
    ),
  };
}

function scrollTable(scrolls: Scrolls): MetricTable {
  return {
    id: 'scrolling',
    title: 'A list scrolls',
    columns: [
      { title: 'frames a second', unit: '', digits: 1 },
      { title: 'longest frame', unit: 'ms', digits: 0 },
    ],
    rows: scrolls.map(({ rows, frames, longestMs }) => row(`${rows} rows`, [frames, longestMs])),
  };
}

function ratiosOf(again: Samples, first: Samples, loads: Loads, scrolls: Scrolls): Ratio[] {
  const slowest = (samples: Samples) =>
    Math.max(...[...samples.values()].map(({ content }) => summarize(content).p50));
  const content = { wanted: { at_most: MAX_CONTENT_MS }, unit: 'ms', digits: 0 };
  const shifts = [...loads.values()].flatMap(({ shift }) => shift);
  const [few, many] = [scrolls[0]?.frames ?? Number.NaN, scrolls.at(-1)?.frames ?? Number.NaN];
  return [
    ratio('a click to the first content, slowest screen, p50', slowest(first), content),
    ratio('the same, opened before', slowest(again), content),
    ratio('layout shift of a screen that loads', Math.max(...shifts), {
      wanted: { at_most: MAX_LAYOUT_SHIFT },
      digits: 3,
    }),
    ratio(`frames of ${scrolls.at(-1)?.rows} rows ÷ frames of ${PAGE_OF_LIST}`, many / few, {
      wanted: { at_least: MIN_FRAMES },
    }),
  ];
}

await runBench(
  { name: 'screens', title: 'Screens' },
  async ({ size, quick, profiles, log }): Promise<Measurements> => {
    const times = size ?? (quick ? 1 : 10);
    await ensureScreens();
    const baton = await prepareBaton(profiles);
    await baton.start('api', 'src/api/server.ts', undefined, { SIGN_INS_PER_MINUTE: '1000000' });
    await baton.start('task-worker', 'workers/task-worker.ts');
    await baton.start('delivery-worker', 'workers/delivery-worker.ts');
    log('rows');
    const sizes = quick ? [PAGE_OF_LIST, 100] : [PAGE_OF_LIST, 1_000, 10_000];
    await seed(baton, Math.max(...sizes));
    const browser = await launchBrowser();
    log('clicks');
    const { first, again } = await measureClicks(browser, baton, times);
    log('loads');
    const loads = await measureLoads(browser, baton, times);
    log('scrolling');
    const scrolls = await measureScrolling(browser, baton, sizes);
    await browser.close();
    return {
      tables: [
        clicksTable('first', 'A click, opened for the first time', first),
        clicksTable('again', 'A click, opened before', again),
        loadsTable(loads),
        scrollTable(scrolls),
      ],
      ratios: ratiosOf(again, first, loads, scrolls),
    };
  },
);
