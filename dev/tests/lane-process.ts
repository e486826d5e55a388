import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkout, local } from '../common/paths.ts';
import type { ServicesForTests } from './services.ts';

/** A message to a lane: the file to run next, or that there are no more. */
export type ToLane = { file: string } | { end: true };
/** A message from a lane: that it is ready, or the outcome of its file. */
export type FromLane = { ready: true } | Outcome;
/** A failed test by its full title, or what else went wrong; `reason` is the message of its error, shortened. */
export type Failure = { title: string; reason?: string };
/**
 * The outcome of a test file: counts, the failures, and the time spent in hooks in milliseconds. `isStuck`: the
 * process could not close its shared resources, and ends.
 */
export type Outcome = {
  passed: number;
  skipped: number;
  failed: Failure[];
  /** Conditions that became true late, or never, each with what Temporal waited for at that time. */
  longWaits: string[];
  setUpMs: number;
  isStuck?: boolean;
};

/** A process that runs test files one after another. */
export type LaneProcess = {
  /** Runs a file. `broken` says how the process ended during the file. */
  run(file: string): Promise<{ outcome: Outcome; output: string } | { broken: string; output: string }>;
  /** Ends the process after its last file. `how` says how it ended: `code 0` when nothing was left open. */
  close(): Promise<{ how: string; output: string }>;
};

const LANE = join('test', 'support', 'lane.ts');
const LEAK_LIMIT_MS = 30_000;

/**
 * Starts a lane with these services. `signal` ends it immediately. With `live`, its output goes to the output of this
 * process instead of being returned. `grep` selects tests by their titles. Resources that are still open `leakLimitMs`
 * after the end are a leak. `root` is the checkout with the tests.
 */
export async function startLaneProcess(
  services: ServicesForTests,
  {
    signal,
    live,
    grep,
    leakLimitMs = LEAK_LIMIT_MS,
    root = checkout,
  }: { signal: AbortSignal; live: boolean; grep?: string; leakLimitMs?: number; root?: string },
): Promise<LaneProcess> {
  const output = live ? 'inherit' : 'pipe';
  const args = [join(root, LANE), String(leakLimitMs), ...(grep === undefined ? [] : [grep])];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', output, output, 'ipc'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: local('cache', 'node'),
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
      BATON_TEST_SERVICES: JSON.stringify(services),
    },
  });
  const end = () => child.kill('SIGTERM');
  signal.addEventListener('abort', end);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, killedBy) => resolve(killedBy ?? `code ${code}`));
    child.once('error', (error) => resolve(error.message));
  }).finally(() => signal.removeEventListener('abort', end));
  const nextMessage = () =>
    Promise.race([
      new Promise<FromLane>((resolve) => child.once('message', (message) => resolve(message as FromLane))),
      ended,
    ]);
  const takeOutput = () => {
    const taken = printed.trimEnd();
    printed = '';
    return taken;
  };
  // A process that is just ending cannot be reached any more. How it ended counts, not that.
  const send = (message: ToLane) => void (child.connected && child.send(message, () => {}));

  await nextMessage();
  return {
    async run(file) {
      send({ file });
      const message = await nextMessage();
      const taken = takeOutput();
      return typeof message === 'string'
        ? { broken: message, output: taken }
        : { outcome: message as Outcome, output: taken };
    },
    async close() {
      send({ end: true });
      return { how: await ended, output: takeOutput() };
    },
  };
}
