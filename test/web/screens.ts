import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { openContext, openPage } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { PASSWORD, type World } from '../support/world.ts';

/** The folder for screenshots; none are made without it. */
const SCREENSHOT_FOLDER = process.env['BATON_SCREENSHOTS'];
/** The rules whose outcome depends on the theme. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/**
 * Resolves when all finite animations have ended. It compares times, because an animation in a collapsed element never
 * reports its end. It looks again after two frames, because an inherited colour changes in one element after the other,
 * each with its own transition.
 */
const WAIT_FOR_ANIMATIONS = `(async () => {
  const isMoving = ({ playState, currentTime, effect }) => {
    const { endTime } = effect.getComputedTiming();
    return playState === 'running' && Number.isFinite(endTime) && currentTime < endTime;
  };
  const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  do await twoFrames();
  while (document.getAnimations().some(isMoving));
})()`;
const DESKTOP = { viewport: { width: 1280, height: 900 } };
const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
/** The browser logs every rejected request and every lost connection to the console. Neither is an error of the page. */
const EXPECTED_ERRORS =
  /Failed to load resource: the server responded with a status of 4\d\d|ERR_INTERNET_DISCONNECTED/;

/** Returns the elements that overflow the page, or scroll a table, and the width of the page with the widest table. */
const FIND_OVERFLOW = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const reaching = [...document.querySelectorAll('main *, aside *')].filter(
    (element) => element.getBoundingClientRect().right > clientWidth + 1,
  );
  const frames = [...document.querySelectorAll('main table')].map(({ parentElement }) => parentElement);
  const scrolling = frames.filter((frame) => frame.scrollWidth > frame.clientWidth + 1);
  const wide = [...scrolling, ...reaching].slice(0, 3).map((element) => element.outerHTML.slice(0, 160));
  return { wide, width: Math.max(scrollWidth, ...scrolling.map((frame) => clientWidth + frame.scrollWidth)) };
})()`;

/** The part of a screen that an open dialog is. */
export const DIALOG = '[role=dialog]';

/** A browser page with the screens of a world. */
export type ScreensPage = {
  page: Page;
  /** The errors of the page, except refused requests. */
  errors(): string[];
  go(path: string): Promise<void>;
  /** Resolves when no request is in progress and the last response has been rendered. */
  isLoaded(): Promise<void>;
  /** Signs in with the form of the page. */
  signIn(email?: string, password?: string): Promise<void>;
  close(): Promise<void>;
};

const cookies = new WeakMap<World, Promise<string>>();

/** Returns the session of a world's owner that all its pages share. */
function ownersCookie(world: World): Promise<string> {
  const known = cookies.get(world) ?? world.signIn();
  cookies.set(world, known);
  return known;
}

/**
 * Opens a page with a session of the owner, unless `cookie` names another session or none. It has a new context, unless
 * `context` is given.
 */
export async function openScreens(
  world: World,
  options: { cookie?: string | null; context?: BrowserContext } = {},
): Promise<ScreensPage> {
  const { cookie = await ownersCookie(world), context } = options;
  const { page, errors, close } = await openPage(DESKTOP, context);
  const { url } = world.api;
  const pending = new Set<Request>();
  page.on('request', (request) => pending.add(request));
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  if (cookie !== null) {
    const [name = '', value = ''] = cookie.split('=');
    await page.context().addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }]);
  }
  return {
    page,
    errors: () => errors.filter((error) => !EXPECTED_ERRORS.test(error)),
    go: async (path) => {
      await page.goto(`${url}${path}`);
    },
    async isLoaded() {
      // What a response shows can send the next request.
      do await page.evaluate(TWO_FRAMES);
      while (pending.size > 0);
    },
    async signIn(email = world.installation.admin_email, password = PASSWORD) {
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    },
    close,
  };
}

/**
 * Registers hooks that open a page, as {@link openScreens} does, for each test of a `describe`, and fail a test whose page
 * has logged errors. The returned object is filled before each test. The pages of the owner share a context, so that the
 * screens come from its cache.
 */
export function useScreens(world: World, options: { cookie?: null } = {}): ScreensPage {
  const at = {} as ScreensPage;
  let context: BrowserContext | undefined;
  if (options.cookie === undefined) before(async () => void (context = await openContext(DESKTOP)));
  after(() => context?.close());
  beforeEach(async () => {
    Object.assign(at, await openScreens(world, { ...options, ...(context ? { context } : {}) }));
  });
  afterEach(async () => {
    const pageErrors = at.errors();
    await at.close();
    // A failed test can have left it offline.
    await context?.setOffline(false);
    assert.deepEqual(pageErrors, []);
  });
  return at;
}

/**
 * Clicks a button of a dialog that shows a result once: again after its first response was lost. Until the second response
 * arrives, the dialog cannot be closed. Checks that both are the same, and returns their body. `path` is that of the
 * request.
 */
export async function clickUntilAnswered(
  page: Page,
  name: string,
  path: string,
): Promise<Record<string, string>> {
  const bodies: Record<string, string>[] = [];
  const second = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    if (route.request().method() !== 'POST') return await route.continue();
    const response = await route.fetch();
    bodies.push(await response.json());
    if (bodies.length === 1) return await route.abort('internetdisconnected');
    await second.promise;
    return await route.fulfill({ response });
  });
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name }).click();
  await dialog.getByText('Cannot reach the server.').waitFor();
  await dialog.getByRole('button', { name }).click();
  await eventually('the second response is held back', () => bodies.length === 2);
  assert.deepEqual(bodies[1], bodies[0]);
  assert.ok(await dialog.getByRole('button', { name: 'Close' }).isDisabled());
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  second.resolve();
  await page.unrouteAll({ behavior: 'wait' });
  return bodies[0] ?? {};
}

/**
 * Checks a screen against the rules of WCAG 2.2 AA and best practice: all rules in the light theme, and the colour rules
 * in the dark theme, which differs only in colours, and which stays. `within` selects a part of the screen.
 */
export async function assertAccessible(page: Page, what: string, within = 'html'): Promise<void> {
  await page.locator(within).first().waitFor({ state: 'attached' });
  for (const colorScheme of ['light', 'dark'] as const) {
    await showTheme(page, colorScheme);
    if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(AXE);
    const found = await page.evaluate(
      async ({ context, options }) => {
        type Run = {
          violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
        };
        const { axe } = globalThis as unknown as {
          axe: { run(context: string, options: object): Promise<Run> };
        };
        const { violations } = await axe.run(context, { resultTypes: ['violations'], ...options });
        return violations.map(
          ({ id, help, nodes }) =>
            `${id}: ${help}\n${nodes.map((node) => `    ${node.html}\n    ${node.failureSummary ?? ''}`).join('\n')}`,
        );
      },
      {
        context: within,
        options: colorScheme === 'dark' ? { runOnly: { type: 'rule', values: COLOUR_RULES } } : {},
      },
    );
    assert.deepEqual(found, [], `${what}, ${colorScheme}`);
  }
}

/** Checks that no element overflows the page at a phone's width. */
export async function assertFitsPhone(page: Page): Promise<void> {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate(TWO_FRAMES);
  let wide: string[] = [];
  // The narrow layout is rendered shortly after the resize.
  await eventually('the page is narrow', async () => {
    const reaching = await page.evaluate<{ wide: string[]; width: number }>(FIND_OVERFLOW);
    ({ wide } = reaching);
    return reaching.width <= 390;
  }).catch((error: Error) => assert.fail(`${error.message}: ${wide.join('\n')}`));
  if (size) await page.setViewportSize(size);
}

/** Shows a page in light or dark, and waits until its animations have ended. */
async function showTheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
  await page.evaluate(WAIT_FOR_ANIMATIONS);
}

/** Saves screenshots of a screen, light, dark and phone, if BATON_SCREENSHOTS is set. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!SCREENSHOT_FOLDER) return;
  mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
  const size = page.viewportSize();
  for (const colorScheme of ['light', 'dark'] as const) {
    await showTheme(page, colorScheme);
    await page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}-${colorScheme}.png`) });
  }
  await showTheme(page, 'light');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}-phone.png`) });
  if (size) await page.setViewportSize(size);
}
