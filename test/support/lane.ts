import { resolve as resolvePath } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Mocha from 'mocha';
import { checkout } from '../../dev/common/paths.ts';
import type { Failure, FromLane, Outcome, ToLane } from '../../dev/tests/lane-process.ts';
import { takeLongWaits } from './eventually.ts';
import { printOpenWorkflows } from './open-workflows.ts';
import { recordReach } from './reach.ts';
import { closeShared } from './shared.ts';

/*
 * A lane of the tests: runs the files that its parent sends, one after another in this process, and sends back the
 * outcome of each. Its arguments: the time in milliseconds within which everything must be closed after the last file, and
 * a pattern for titles. A process with an open resource then fails, and prints the resource. If BATON_TEST_REACH names a
 * folder, the lane also writes there which functions each file calls.
 */
const [leakLimitMs, grep] = process.argv.slice(2);
const OPTIONS = {
  // For tests that hang. A test that needs more time sets its own limit. No test should come near it on a slow machine.
  timeout: 120_000,
  slow: 1_000,
  reporter: 'spec',
  forbidOnly: true,
  color: process.env['FORCE_COLOR'] === '1',
  ...(grep === undefined ? {} : { grep }),
};
/** How much of an error's message a summary repeats. */
const REASON_LINES = 8;
const REASON_WIDTH = 200;
/** Time limit for closing the shared resources, as a multiple of the limit for leaks. */
const CLOSE_LIMITS = 4;
/** The resources that each file has left open, for the message of a leak. */
const leftOpen = new Map<string, string[]>();
/** Errors that nothing has handled while no test was running. They are failures of the file, or of the next one. */
const strayErrors: Failure[] = [];
let isRunning = false;
let lastFile = '';

/** The connections of the process to its parent. */
const atStart = openResources();

process.env['NODE_ENV'] = 'test';
// For this process. Those that a test starts in another folder must not fill it.
delete process.env['NODE_COMPILE_CACHE'];
// As in a process of the service, a rejection that nothing handles is an error. Mocha fails the running test with it.
process.on('unhandledRejection', (reason) => {
  throw reason;
});
process.on('uncaughtException', (error: Error) => {
  if (isRunning) return;
  console.error(error);
  strayErrors.push({
    title: `${lastFile} caused an error while no test was running`,
    reason: reasonOf(error),
  });
});
process.on('exit', () => {
  if (strayErrors.length > 0) process.exitCode = 1;
});
const reachFolder = process.env['BATON_TEST_REACH'];
const reach = reachFolder === undefined ? null : await recordReach(reachFolder);
const send = (message: FromLane, sent = () => {}) => process.send?.(message, sent);
process.on('message', (message: ToLane) => {
  if ('file' in message) void runFile(message.file).then(report);
  else void end();
});
send({ ready: true });

async function runFile(file: string): Promise<Outcome> {
  const began = performance.now();
  const outcome = await outcomeOfFile(file);
  const ms = Math.round(performance.now() - began);
  await reach?.record(file, { ms, isPassed: outcome.failed.length === 0 });
  return outcome;
}

async function outcomeOfFile(file: string): Promise<Outcome> {
  lastFile = file;
  const before = openResources();
  const mocha = new Mocha(OPTIONS);
  mocha.addFile(resolvePath(checkout, file));
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    console.error(error);
    return {
      passed: 0,
      skipped: 0,
      longWaits: [],
      setUpMs: 0,
      failed: [{ title: `${file} could not be loaded` }],
    };
  }
  const outcome = await outcomeOf(mocha);
  // A failed test may have left a shared service in any state: the next file gets a new one.
  const isStuck = outcome.failed.length > 0 && !(await closesShared());
  leftOpen.set(file, newIn(openResources(), before));
  // Node reports rejections that nothing has handled when no promise is left to continue.
  await nextTurn();
  const failed = [...outcome.failed, ...strayErrors.splice(0)];
  if (!isStuck) return { ...outcome, failed };
  const stuck = { title: `${file} did not close its shared resources` };
  return { ...outcome, failed: [...failed, stuck], isStuck };
}

function report(outcome: Outcome): void {
  send(outcome, outcome.isStuck ? () => process.exit(1) : undefined);
}

/** Closes the shared resources. Returns false if that takes too long: a failed test may have left a worker that hangs. */
async function closesShared(): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), CLOSE_LIMITS * Number(leakLimitMs));
  const isClosed = await Promise.race([closeShared().then(() => true), late.promise]);
  clearTimeout(timer);
  return isClosed;
}

async function outcomeOf(mocha: Mocha): Promise<Outcome> {
  const failed: Failure[] = [];
  const notes: Promise<void>[] = [];
  let setUpMs = 0;
  let hookBegan = 0;
  isRunning = true;
  const runner = await new Promise<Mocha.Runner>((resolve) => {
    const running = mocha.run(() => resolve(running));
    running.on('fail', (test, error: Error) => {
      failed.push({ title: test.titlePath().join(' › '), reason: reasonOf(error) });
      notes.push(printOpenWorkflows().then((open) => console.error(open)));
    });
    running.on('hook', () => (hookBegan = performance.now()));
    running.on('hook end', () => (setUpMs += performance.now() - hookBegan));
  });
  runner.dispose();
  mocha.dispose();
  isRunning = false;
  await Promise.all(notes);
  const { passes: passed = 0, pending: skipped = 0 } = runner.stats ?? {};
  return { passed, skipped, failed, longWaits: await takeLongWaits(), setUpMs: Math.round(setUpMs) };
}

/** Returns the message of an error, shortened, and the line of this project that threw it. */
function reasonOf(error: unknown): string {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const place = stack.split('\n').find((line) => /^ *at /.test(line) && !/node_modules|node:/.test(line));
  const lines = message.split('\n', REASON_LINES).map((line) => line.slice(0, REASON_WIDTH));
  return [...lines, ...(place === undefined ? [] : [place.trim()])].join('\n');
}

async function end(): Promise<void> {
  if (!(await closesShared())) console.error('The shared resources of the tests did not close');
  process.disconnect?.();
  setTimeout(() => {
    const open = newIn(openResources(), atStart).join(', ') || 'unnamed';
    console.error(`The tests ended but left something open: ${open}`);
    for (const [file, kinds] of leftOpen)
      if (kinds.length > 0) console.error(`  ${file}: ${kinds.join(', ')}`);
    process.exit(1);
  }, Number(leakLimitMs)).unref();
}

/** Returns the kinds of the resources that keep this process alive, one entry for each resource. */
function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name !== 'TTYWrap');
}

function newIn(now: readonly string[], before: readonly string[]): string[] {
  const left = [...before];
  return now.filter((name) => {
    const index = left.indexOf(name);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}
