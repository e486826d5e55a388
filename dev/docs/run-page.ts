import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../common/free-port.ts';
import type { Page } from './markdown.ts';
import { differences } from './shapes.ts';
import { STARTS, stepsOf, type Step } from './steps.ts';
import { openTerminal, type Background, type Outcome, type Terminal } from './terminal.ts';

/**
 * The running service, its checkout, and the paths of programs that a page expects in `PATH`. `quick`: replaces `npx`
 * with a short script, since npm takes longer to find a program of the checkout than most commands take.
 */
export type Reading = { checkout: string; baseUrl: string; programs: Record<string, string>; quick: boolean };

export type PageOptions = {
  /** Variables in addition to those of a new machine. */
  environment?: NodeJS.ProcessEnv;
  /** Runs `npm start` as well, in a separate terminal. By default, the service is already running. */
  starting?: boolean;
  /** Called after each step with its duration in milliseconds and the last output. */
  onDone?: (step: Step, ms: number, output: string) => void;
  /** Called after the last step, while everything that the page has started is running. */
  atEnd?: () => Promise<void>;
};

/** The failure with its line; null if there is none. A failure ends the page. */
export type PageReport = { ran: number; failure: string | null };

const BLOCK_LIMIT_MS = 120_000;
/** A first start downloads what is missing. */
const START_LIMIT_MS = 900_000;
const SOON_MS = 60_000;
/** Ports in the pages that another program on the machine of the test may use. */
const OWN_PORTS = /(?<=localhost:|--port |PORT=|--forward )(?:3001|4000|8080|8443)\b/g;
/** Replaces `npx`, see {@link Reading}. */
const QUICK_NPX = `#!/bin/sh
name="$1"; shift
case "$name" in
  baton) exec node_modules/node/bin/node cli/baton.mjs "$@" ;;
  *) exec "node_modules/.bin/$name" "$@" ;;
esac
`;
const INSTALLS = /\bnpm (?:install|i|ci|uninstall|update)\b/;
/** The exit code of curl for an HTTP status of 400 and above. */
const REFUSED = 22;

/** Runs the steps of a page in order, with a new home folder. Stops at the first failure. */
export async function followPage(
  page: Page,
  reading: Reading,
  options: PageOptions = {},
): Promise<PageReport> {
  const home = mkdtempSync(join(tmpdir(), 'baton-page-'));
  // Temporary files are removed with the home folder. `npm start` runs programs that cannot use it.
  const temporary = options.starting ? {} : { TMPDIR: home };
  const environment = { ...environmentIn(home, reading), ...temporary, ...options.environment };
  const terminal = openTerminal({ scratch: home, cwd: reading.checkout, environment });
  const put = await portsFor(reading);
  const follower: Follower = { terminal, other: null, last: '', put, starting: options.starting ?? false };
  let ran = 0;
  try {
    for (const step of stepsOf(page)) {
      const began = performance.now();
      const failure = await take(step, follower);
      if (failure !== null) return { ran, failure: `${page.path}:${step.line}: ${failure}` };
      options.onDone?.(step, performance.now() - began, follower.last);
      if (step.kind === 'run' || step.kind === 'other') ran += 1;
    }
    await options.atEnd?.();
    return { ran, failure: null };
  } finally {
    await terminal.close();
    rmSync(home, { recursive: true, force: true });
  }
}

type Follower = {
  terminal: Terminal;
  other: Background | null;
  last: string;
  put(text: string): string;
  starting: boolean;
};

/** Returns the environment of a person who has just cloned the repository, without the variables of this process. */
function environmentIn(home: string, { programs, quick }: Reading): NodeJS.ProcessEnv {
  const own = join(home, 'bin');
  mkdirSync(own);
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(own, name));
  if (quick) writeFileSync(join(own, 'npx'), QUICK_NPX, { mode: 0o755 });
  const given = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  const path = [own, ...given];
  return {
    PATH: path.join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
  };
}

/** Returns a function that replaces the ports in a page with those of this run. */
async function portsFor({ baseUrl }: Reading): Promise<(text: string) => string> {
  const ours = new Map<string, number>();
  for (const port of ['3001', '4000', '8080', '8443']) ours.set(port, await freePort());
  return (text) =>
    text
      .replaceAll('http://localhost:3000', baseUrl)
      .replaceAll(/npm run receiver(?: --)?/g, 'npm run receiver -- --port 8443')
      .replaceAll(OWN_PORTS, (port) => String(ours.get(port)));
}

/** Runs one step. Returns the failure, or null. */
async function take(step: Step, follower: Follower): Promise<string | null> {
  switch (step.kind) {
    case 'skipped':
      return follower.starting && step.reason === STARTS ? await started(step.text, follower) : null;
    case 'run':
      return await runBlock(step, follower);
    case 'other':
      follower.other = await follower.terminal.inBackground(follower.put(step.text));
      return await heard(step.ready, follower);
    case 'heard':
      return await heard(step.text, follower);
    case 'stop':
      await follower.other?.stop();
      return null;
    case 'answer':
      return answered(step.text, follower.last);
  }
}

async function runBlock(step: Extract<Step, { kind: 'run' }>, follower: Follower): Promise<string | null> {
  // The packages of the checkout may be a link to those of another one.
  if (INSTALLS.test(step.text)) return 'installs packages: add a comment that says that it is not run';
  const until = Date.now() + SOON_MS;
  for (;;) {
    const strict = step.exit === 0 && step.status === null;
    const outcome = await follower.terminal.run(follower.put(step.text), BLOCK_LIMIT_MS, strict);
    follower.last = outcome.output;
    const wrong = wrongWith(step, outcome);
    if (wrong === null || !step.again || Date.now() > until) return wrong;
    await pause(300);
  }
}

function wrongWith(step: Extract<Step, { kind: 'run' }>, { exit, output }: Outcome): string | null {
  const shown = `\n${output.trimEnd()}`;
  const wanted = step.status === null ? step.exit : REFUSED;
  if (exit === null) return `did not end within ${BLOCK_LIMIT_MS / 1_000} s${shown}`;
  if (exit !== wanted) return `ended with ${exit} instead of ${wanted}${shown}`;
  if (step.status !== null && !output.includes(`"status":${step.status}`)) {
    return `did not get the status ${step.status}${shown}`;
  }
  return step.prints === null || output.includes(step.prints)
    ? null
    : `did not print "${step.prints}"${shown}`;
}

/** Runs `npm start`, which continues until the end of the page. It is the other terminal until there is another one. */
async function started(text: string, follower: Follower): Promise<string | null> {
  follower.other = await follower.terminal.inBackground(text);
  const failure = await heard('Baton is running', follower, START_LIMIT_MS);
  follower.last = follower.other.output();
  return failure;
}

async function heard(text: string, { other }: Follower, limitMs = BLOCK_LIMIT_MS): Promise<string | null> {
  if (other === null) return 'there is no other terminal';
  const until = Date.now() + limitMs;
  while (!other.output().includes(text)) {
    if (!other.isRunning()) return `the other terminal ended without "${text}"\n${other.output()}`;
    if (Date.now() > until) return `the other terminal did not print "${text}"\n${other.output()}`;
    await pause(100);
  }
  return null;
}

function answered(shown: string, given: string): string | null {
  let answer: unknown;
  try {
    answer = JSON.parse(given);
  } catch {
    return `the output of the previous commands is not valid JSON\n${given}`;
  }
  const found = differences(JSON.parse(shown), answer);
  return found.length === 0 ? null : `the response differs: ${found.join('; ')}\n${given}`;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
