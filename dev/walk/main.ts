import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '../common/free-port.ts';
import { checkout } from '../common/paths.ts';
import { partsOf, type Page, type Part } from '../docs/markdown.ts';
import { followPage, type PageOptions } from '../docs/run-page.ts';
import { STARTS, stepsOf, type Step } from '../docs/steps.ts';
import { sizeOfFolder, usageOf } from './usage.ts';

/*
 * `npm run walk [-- REPOSITORY] [--json] [--quick]`: does what a new user does first. Clones a repository (default: the HEAD of
 * this checkout) into an empty folder, with empty caches. Starts it, watches the tour, and follows the README up to the first
 * callback with a valid signature. Prints how long each step took, what it has installed, what the idle service uses, and how
 * long a second start takes. The reference is a bare `npm ci` of the same packages. `--json` prints the figures, and the steps to
 * standard error. `--quick` leaves out the bare `npm ci` and the measurement of the idle service.
 *
 * On ext4, creating files takes up to three times the CPU for five minutes after many were deleted, which a walk does at its end:
 * leave that time between two walks.
 */

/** What the tour prints at its end, and a receiver for each callback. */
const VERIFIED = 'other terminal prints: signature verified';
/** The first heading and the last note of the part of the README that is followed. */
const FROM = 'first-task';
const TO = VERIFIED;
/** Connections and caches that the first task needed are released after a while. */
const SETTLE_MS = 15_000;
const IDLE_MS = 20_000;
/** The steps of a start that download something. */
const DOWNLOADING = ['dependencies', 'Temporal'];
/** The files that `npm ci` needs. */
const MANIFESTS = ['package.json', 'package-lock.json', '.npmrc', 'web/package.json', 'dev/package.json'];
const NODE_MANIFEST = 'dev/node/package.json';

/** Seconds, megabytes, files, and percents of one core. Null where it could not be measured, or `--quick` leaves it out. */
type Figures = {
  banner_s: number;
  /** The time of the steps before the banner that download something: the registries decide it. */
  downloads_s: number;
  /** Until the callback of the tour was verified. */
  tour_s: number;
  /** Until the first callback of the README was verified, with the 30 seconds of the run before it. */
  callback_s: number;
  second_start_s: number;
  npm_ci_s: number | null;
  packages_mb: number;
  packages_files: number;
  idle_mb: number | null;
  idle_core_percent: number | null;
};

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), 'baton-walk-'));
chmodSync(folder, 0o755); // accessible to the user that PostgreSQL runs as
try {
  const figures = await walk(positionals[0] ?? checkout);
  console.log(values.json ? JSON.stringify(figures) : formatFigures(figures));
} catch (error) {
  console.error(`\n${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @throws Error with the step that failed */
async function walk(repository: string): Promise<Figures> {
  const began = performance.now();
  const secondsSince = () => (performance.now() - began) / 1_000;
  const clone = join(folder, 'baton');
  await promisify(execFile)('git', ['clone', '--quiet', repository, clone]);
  showStep('git clone', performance.now() - began);
  const page = firstTask(join(clone, 'README.md'));
  const [banner, idle] = [
    { at: 0, downloads: 0 },
    { mb: null as number | null, core: null as number | null },
  ];
  let [tour, callback] = [0, 0];
  await follow(withTour(page), clone, {
    onDone(step, ms, output) {
      showStep(titleOf(step), ms);
      if (step.kind === 'heard') tour ||= secondsSince();
      if (isStart(step)) {
        banner.at = secondsSince();
        banner.downloads = secondsOf(output, DOWNLOADING);
        for (const line of output.match(/^ *✓.*$/gm) ?? []) show(`    ${line}`);
      }
    },
    async atEnd() {
      callback = secondsSince();
      if (values.quick) return;
      await wait(SETTLE_MS);
      const launcher = Number(readFileSync(join(clone, '.local', 'launcher.pid'), 'utf8'));
      const usage = await usageOf(launcher, IDLE_MS);
      if (usage) Object.assign(idle, { mb: megabytes(usage.bytes), core: 100 * usage.core });
    },
  });
  let second = 0;
  await follow(onlyStart(page), clone, { onDone: (_, ms) => void (second = ms / 1_000) });
  const { bytes, files } = sizeOfFolder(join(clone, 'node_modules'));
  return {
    banner_s: banner.at,
    downloads_s: banner.downloads,
    tour_s: tour,
    callback_s: callback,
    second_start_s: second,
    npm_ci_s: values.quick ? null : await bareInstallation(clone),
    packages_mb: megabytes(bytes),
    packages_files: files,
    idle_mb: idle.mb,
    idle_core_percent: idle.core,
  };
}

async function follow(page: Page, clone: string, options: PageOptions): Promise<void> {
  const port = await freePort();
  const reading = { checkout: clone, baseUrl: `http://localhost:${port}`, programs: {}, quick: false };
  const environment = { ...bareMachine(join(folder, 'cache')), PORT: String(port) };
  const { failure } = await followPage(page, reading, { ...options, starting: true, environment });
  if (failure !== null) throw new Error(failure);
}

/** Returns an environment with empty caches. HOME stays, since it contains the settings for package registries. */
function bareMachine(caches: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: (process.env['PATH'] ?? '')
      .split(':')
      .filter((place) => !place.includes('node_modules'))
      .join(':'),
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
    TEMPORAL_CLI_PATH: '',
    XDG_CACHE_HOME: join(caches, 'cache'),
    XDG_CONFIG_HOME: join(caches, 'config'),
    npm_config_cache: join(caches, 'npm'),
    PIP_NO_CACHE_DIR: '1',
  };
}

/** Returns the seconds of `npm ci` alone, with the packages that `npm start` has installed and an empty cache. */
async function bareInstallation(clone: string): Promise<number> {
  const bare = join(folder, 'bare');
  const withNode = existsSync(join(clone, 'node_modules', 'node'));
  for (const file of withNode ? [...MANIFESTS, NODE_MANIFEST] : MANIFESTS) {
    mkdirSync(dirname(join(bare, file)), { recursive: true });
    cpSync(join(clone, file), join(bare, file));
  }
  const workspaces = ['web', 'dev', ...(withNode ? ['dev/node'] : [])].flatMap((one) => ['--workspace', one]);
  const words = ['ci', '--omit=dev', '--include-workspace-root', ...workspaces, '--no-fund', '--no-audit'];
  const began = performance.now();
  await promisify(execFile)('npm', words, { cwd: bare, env: bareMachine(join(folder, 'bare-cache')) });
  return (performance.now() - began) / 1_000;
}

/** Returns the part of the README up to the first callback. */
function firstTask(file: string): Page {
  const parts = partsOf(readFileSync(file, 'utf8'));
  const from = parts.findIndex((part) => part.kind === 'heading' && part.anchor === FROM);
  const to = parts.findIndex((part) => part.kind === 'note' && part.text === TO);
  if (from < 0 || to < from) throw new Error(`${file} has no way from "${FROM}" to "${TO}"`);
  return { path: 'README.md', parts: parts.slice(from, to + 1) };
}

/** Returns a page with nothing but the `npm start` of another one. */
function onlyStart({ path, parts }: Page): Page {
  return { path, parts: parts.filter((part) => starts(path, part)) };
}

/** Returns the page with a wait for the tour's callback after `npm start`. */
function withTour({ path, parts }: Page): Page {
  const note: Part = { kind: 'note', line: 0, text: VERIFIED };
  return { path, parts: parts.flatMap((part) => (starts(path, part) ? [part, note] : [part])) };
}

function starts(path: string, part: Part): boolean {
  return stepsOf({ path, parts: [part] }).some(isStart);
}

/** Returns the total of steps that a start has printed, such as `✓ Temporal  1.6 s`. */
function secondsOf(output: string, names: readonly string[]): number {
  const printed = [...output.matchAll(/^ *✓ (.+?) +([\d.]+) s\b/gm)];
  return printed.reduce((sum, [, name = '', s]) => sum + (names.includes(name) ? Number(s) : 0), 0);
}

function isStart(step: Step): boolean {
  return step.kind === 'skipped' && step.reason === STARTS;
}

function titleOf(step: Step): string {
  switch (step.kind) {
    case 'heard':
      return `(${step.text})`;
    case 'stop':
    case 'answer':
      return `(${step.kind})`;
    default:
      return step.text.split('\n').find((line) => !line.startsWith('#')) ?? '';
  }
}

function showStep(title: string, ms: number): void {
  const shown = title.length > 78 ? `${title.slice(0, 77)}…` : title;
  show(`  ${shown.padEnd(80)} ${(ms / 1_000).toFixed(1).padStart(7)} s`);
}

function show(line: string): void {
  if (values.json) console.error(line);
  else console.log(line);
}

function formatFigures(figures: Figures): string {
  const { banner_s, downloads_s, tour_s, callback_s, second_start_s, npm_ci_s } = figures;
  const rowOf = (title: string, value: string | undefined, unit: string) =>
    `  ${title.padEnd(48)} ${(value ?? '–').padStart(7)} ${unit}`;
  const timeRow = (title: string, seconds: number | null) => {
    const share =
      seconds === null || npm_ci_s === null ? '' : `  ${(seconds / npm_ci_s).toFixed(2)} × npm ci`;
    return rowOf(title, seconds?.toFixed(1), `s${share}`);
  };
  const sizeRow = (title: string, value: number | null, unit: string) =>
    rowOf(title, value?.toFixed(0), unit);
  return [
    '',
    timeRow('from clone to the banner', banner_s),
    timeRow('of which steps that download', downloads_s),
    timeRow("from clone to the tour's callback verified", tour_s),
    timeRow("from clone to the README's callback verified", callback_s),
    timeRow('second start', second_start_s),
    timeRow('npm ci of the same packages alone', npm_ci_s),
    sizeRow('packages', figures.packages_mb, 'MB'),
    sizeRow('packages', figures.packages_files, 'files'),
    sizeRow('memory of everything, idle', figures.idle_mb, 'MB'),
    sizeRow('CPU of everything, idle', figures.idle_core_percent, '% of a core'),
  ].join('\n');
}

function megabytes(bytes: number): number {
  return bytes / 1_000_000;
}
