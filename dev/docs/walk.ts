import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { partsOf, type Page } from './markdown.ts';
import { followPage } from './run-page.ts';
import { type Step } from './steps.ts';
import { freePort } from '../common/free-port.ts';
import { checkout } from '../common/paths.ts';

/*
 * `npm run walk [-- REPOSITORY]`: does what a new user does first. Clones a repository (default: the HEAD of this
 * checkout) into an empty folder, with empty caches. Follows its README up to the first callback with a valid
 * signature, and prints the duration of each step.
 */

/** The first heading and the last note of the part of the README that is followed. */
const FROM = 'first-task';
const TO = 'other terminal prints: signature verified';

const rows: [string, number][] = [];
const began = performance.now();
const folder = mkdtempSync(join(tmpdir(), 'baton-walk-'));
chmodSync(folder, 0o755); // accessible to the user that PostgreSQL runs as
try {
  process.exitCode = await walk(process.argv[2] ?? checkout);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function walk(repository: string): Promise<number> {
  const clone = join(folder, 'baton');
  await promisify(execFile)('git', ['clone', '--quiet', repository, clone]);
  done('git clone', performance.now() - began);
  const port = await freePort();
  const reading = { checkout: clone, baseUrl: `http://localhost:${port}`, programs: {}, quick: false };
  const report = await followPage(firstTask(join(clone, 'README.md')), reading, {
    starting: true,
    environment: bareMachine(port),
    onDone: (step, ms, output) => {
      done(titleOf(step), ms);
      if (step.kind === 'skipped')
        for (const line of output.match(/^ *✓.*$/gm) ?? []) console.log(`    ${line}`);
    },
  });
  if (report.failure !== null) {
    console.error(`\n${report.failure}`);
    return 1;
  }
  done(
    'from clone to the first callback verified',
    rows.reduce((sum, [, ms]) => sum + ms, 0),
  );
  return 0;
}

/** Returns an environment with empty caches. HOME stays, since it contains the settings for package registries. */
function bareMachine(port: number): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: (process.env['PATH'] ?? '')
      .split(':')
      .filter((place) => !place.includes('node_modules'))
      .join(':'),
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
    TEMPORAL_CLI_PATH: '',
    PORT: String(port),
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    npm_config_cache: join(folder, 'npm'),
    PIP_NO_CACHE_DIR: '1',
  };
}

/** Returns the part of the README up to the first callback. */
function firstTask(file: string): Page {
  const parts = partsOf(readFileSync(file, 'utf8'));
  const from = parts.findIndex((part) => part.kind === 'heading' && part.anchor === FROM);
  const to = parts.findIndex((part) => part.kind === 'note' && part.text === TO);
  if (from < 0 || to < from) throw new Error(`${file} has no way from "${FROM}" to "${TO}"`);
  return { path: 'README.md', parts: parts.slice(from, to + 1) };
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

function done(title: string, ms: number): void {
  rows.push([title, ms]);
  const shown = title.length > 78 ? `${title.slice(0, 77)}…` : title;
  console.log(`  ${shown.padEnd(80)} ${(ms / 1_000).toFixed(1).padStart(7)} s`);
}
