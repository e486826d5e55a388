import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { findChromium } from './chromium.ts';
import { WAIT_TIMEOUT_MS } from './eventually.ts';
import { sharedInLane } from './shared.ts';

/** A page in the browser of this lane. */
export type OpenPage = {
  page: Page;
  /** The errors of the page: console errors, uncaught errors, failed requests. */
  errors: readonly string[];
  close(): Promise<void>;
};

/** The sandbox needs permissions that a container lacks. There is no GPU. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu'];
const LAUNCH_LIMIT_MS = 60_000;

const browser = sharedInLane(launchBrowser, (launched) => launched.close());

/** Opens a context, without cookies, storage or cache, in the browser of this lane, which is started at the first call. */
export async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await (await browser()).newContext(options);
  context.setDefaultTimeout(WAIT_TIMEOUT_MS);
  return context;
}

/** Opens a page in a new context, or in `shared`, which stays open. */
export async function openPage(
  options: BrowserContextOptions = {},
  shared?: BrowserContext,
): Promise<OpenPage> {
  const context = shared ?? (await openContext(options));
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? 'failed';
    // Requests aborted by a navigation are not errors.
    if (why !== 'net::ERR_ABORTED') errors.push(`${request.method()} ${request.url()}: ${why}`);
  });
  return { page, errors, close: () => (shared ? page.close() : context.close()) };
}

/** Calls `work` with a page and always closes it afterwards. */
export async function withPage<T>(
  work: (page: Page, errors: readonly string[]) => Promise<T>,
  options: BrowserContextOptions = {},
): Promise<T> {
  const { page, errors, close } = await openPage(options);
  try {
    return await work(page, errors);
  } finally {
    await close();
  }
}

/** Starts a browser. @throws with an explanation if none can be started */
export async function launchBrowser(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  const { path, environment } = await findChromium((sentence) => console.log(`    ${sentence}`));
  try {
    return await chromium.launch({
      executablePath: path,
      args: ARGUMENTS,
      env: { ...process.env, ...environment },
      timeout: LAUNCH_LIMIT_MS,
    });
  } catch (error) {
    const [first] = (error as Error).message.split('\n');
    throw new Error(`the browser ${path} does not start: ${first}`, { cause: error });
  }
}
