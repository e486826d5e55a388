import { spawn } from 'node:child_process';
import { checkout } from '../common/paths.ts';
import type { Progress } from '../common/progress.ts';
import { startTestServices } from './services.ts';

/**
 * Runs a program with this Node, while PostgreSQL and Temporal are running. Stops them afterwards, also after Ctrl-C.
 * Returns the exit code of the program, or 130 after an interruption.
 */
export async function runWithServices(
  words: string[],
  progress: Progress,
  options: { durable: boolean },
): Promise<number> {
  const interrupted = new Promise<'interrupted'>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve('interrupted'));
  });
  const starting = startTestServices(progress, options);
  const first = await Promise.race([starting, interrupted]);
  if (first === 'interrupted') {
    await starting.then(({ stop }) => stop());
    return 130;
  }
  const { services, stop } = first;
  const child = spawn(process.execPath, words, {
    cwd: checkout,
    stdio: 'inherit',
    env: { ...process.env, BATON_TEST_SERVICES: JSON.stringify(services) },
  });
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 130)));
    child.once('error', () => resolve(1));
  });
  const how = await Promise.race([exited, interrupted]);
  if (how === 'interrupted') {
    child.kill('SIGTERM');
    const last = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await exited;
    clearTimeout(last);
  }
  await stop();
  return how === 'interrupted' ? 130 : how;
}
