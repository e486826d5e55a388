import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { eventually } from '../support/eventually.ts';

const folder = inCheckout('examples', 'receivers');

/** An example of a receiver, and how it is started. */
export type Example = {
  language: string;
  /** Returns why the example cannot be started here, or null if it can. */
  missing(): string | null;
  /** Returns the command and its arguments; build results are written to `into`. */
  command(into: string): readonly [string, ...string[]];
};

export const EXAMPLES: readonly Example[] = [
  {
    language: 'TypeScript',
    missing: () => null,
    command: () => [process.execPath, join(folder, 'typescript', 'receiver.ts')],
  },
  {
    language: 'Python',
    missing: () =>
      succeeds('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'])
        ? null
        : 'python3 (3.9 or newer) is not installed',
    command: () => ['python3', join(folder, 'python', 'receiver.py')],
  },
  {
    language: 'Go',
    // A toolchain that would have to be downloaded counts as missing.
    missing: () =>
      succeeds('go', ['vet', '.'], join(folder, 'go')) ? null : 'go (1.22 or newer) is not installed',
    command(into) {
      const program = join(into, 'receiver');
      if (!succeeds('go', ['build', '-o', program, '.'], join(folder, 'go')))
        throw new Error('go build failed');
      return [program];
    },
  },
];

function succeeds(command: string, args: string[], cwd = folder): boolean {
  const { status } = spawnSync(command, args, { cwd, env: { ...process.env, GOTOOLCHAIN: 'local' } });
  return status === 0;
}

/** A running example. */
export type RunningExample = {
  url: string;
  /** Returns the lines that it printed after its URL. */
  lines(): string[];
  /** Waits for a printed line that matches. Returns the line. */
  prints(pattern: RegExp): Promise<string>;
  close(): Promise<void>;
};

/** Registers hooks that start an example for a `describe`, or skip the `describe` if it cannot be started here. */
export function useExample(example: Example, secret: string): RunningExample {
  const running = {} as RunningExample;
  before(async function () {
    this.timeout(180_000); // a first build
    const missing = example.missing();
    if (missing !== null) {
      console.log(`    skipped: ${missing}`);
      this.skip();
    }
    Object.assign(running, await startExample(example, secret));
  });
  after(() => running.close?.());
  return running;
}

/** Starts an example on a free port with this secret. @throws when it exits before it prints its URL */
export async function startExample(example: Example, secret: string): Promise<RunningExample> {
  const built = mkdtempSync(join(tmpdir(), 'baton-example-'));
  const [command, ...args] = example.command(built);
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, { env: { PATH, HOME, PORT: '0', WEBHOOK_SECRET: secret } });
  let printed = '';
  let errorOutput = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  const ended = once(child, 'close');
  const lines = () => printed.split('\n').slice(0, -1);
  const prints = (pattern: RegExp): Promise<string> =>
    eventually(`the example prints ${pattern}`, async () => {
      const { exitCode } = child;
      const line = lines().find((printedLine) => pattern.test(printedLine));
      if (line === undefined && exitCode !== null) {
        // The last output can arrive after the exit.
        await ended;
        throw new Error(`ended with ${exitCode}: ${errorOutput}`);
      }
      return line ?? null;
    });
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(built, { recursive: true, force: true });
  };
  try {
    const url = (await prints(/^listening at /)).replace('listening at ', '');
    return { url, lines: () => lines().slice(1), prints, close };
  } catch (error) {
    await close();
    throw error;
  }
}
