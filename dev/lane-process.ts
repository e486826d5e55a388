import { spawn } from 'node:child_process';
import { checkout, inCheckout } from './paths.ts';
import type { ServicesForTests } from './test-services.ts';

/** What a lane is told: files to run next, or that there are no more. */
export type ToLane = { files: string[] } | { over: true };
/** What a lane tells: that it listens, or what came of its files. */
export type FromLane = { ready: true } | Outcome;
/** What came of test files; `failed` holds titles. */
export type Outcome = { passed: number; skipped: number; failed: string[] };

/** A process that runs test files one after another. */
export type LaneProcess = {
  /** What came of these files and what they printed; `broken` says how the process ended in their midst. */
  run(files: string[]): Promise<{ outcome: Outcome; output: string } | { broken: string; output: string }>;
  /** Tells it that there are no more files, and answers how it ended. */
  close(): Promise<{ how: string; output: string }>;
};

const LANE = inCheckout('test', 'support', 'lane.ts');

/** Starts a lane that finds these services; `signal` ends it at once. */
export async function startLaneProcess(
  services: ServicesForTests,
  signal: AbortSignal,
): Promise<LaneProcess> {
  const child = spawn(process.execPath, [LANE], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...process.env,
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
      BATON_TEST_SERVICES: JSON.stringify(services),
    },
  });
  const end = () => child.kill('SIGTERM');
  signal.addEventListener('abort', end);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  }
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, killedBy) => resolve(killedBy ?? `code ${code}`));
    child.once('error', (error) => resolve(error.message));
  }).finally(() => signal.removeEventListener('abort', end));
  const told = () =>
    Promise.race([
      new Promise<FromLane>((resolve) => child.once('message', (message) => resolve(message as FromLane))),
      ended,
    ]);
  const takeOutput = () => {
    const output = printed.trimEnd();
    printed = '';
    return output;
  };
  const say = (message: ToLane) => void (child.connected && child.send(message));

  await told();
  return {
    async run(files) {
      say({ files });
      const what = await told();
      const output = takeOutput();
      return typeof what === 'string' ? { broken: what, output } : { outcome: what as Outcome, output };
    },
    async close() {
      say({ over: true });
      return { how: await ended, output: takeOutput() };
    },
  };
}
