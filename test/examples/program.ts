import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../support/eventually.ts';

/** A running example. */
export type Program = {
  /** Waits until it has printed a text that matches. */
  prints(pattern: RegExp): Promise<void>;
  /** Types a line. */
  types(line: string): void;
  /** Closes its input. */
  hangUp(): void;
  ended: Promise<{ code: number | null; printed: string; stderr: string }>;
};

/** Running programs. */
const children = new Set<ChildProcess>();

/** Starts an example, with PATH, HOME and these variables. */
export function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  environment: object,
): Program {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, { env: { PATH, HOME, ...environment } });
  let printed = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  children.add(child);
  return {
    prints: async (pattern) => {
      await eventually(`the program prints ${pattern}`, () => pattern.test(printed));
    },
    types: (line) => void child.stdin.write(`${line}\n`),
    hangUp: () => void child.stdin.end(),
    ended: once(child, 'close').then(([code]) => {
      children.delete(child);
      return { code: code as number | null, printed, stderr };
    }),
  };
}

/** Ends the programs that a test has left running. */
export function endPrograms(): void {
  for (const child of children) child.kill('SIGKILL');
}
