import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { inCheckout } from '../common/paths.ts';
import type { Progress } from '../common/progress.ts';

const FOLDER = inCheckout('dev', 'mutation');
const LOCK = inCheckout('dev', 'mutation', 'package-lock.json');
/** The lock file that was installed from. */
const INSTALLED = inCheckout('dev', 'mutation', 'node_modules', '.installed-lock.json');

/**
 * Installs Stryker from its own lock file, if that has not been done or the lock file has changed. Only this command needs
 * its packages.
 * @throws Error with the last line of npm's output
 */
export async function installStryker(progress: Progress): Promise<void> {
  const wanted = readFileSync(LOCK, 'utf8');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === wanted) return;
  await progress.step('Stryker', async () => {
    try {
      const quiet = ['--no-fund', '--no-audit', '--loglevel', 'error'];
      await promisify(execFile)('npm', ['ci', ...quiet], { cwd: FOLDER });
    } catch (error) {
      const { stderr = '', message } = error as Error & { stderr?: string };
      throw new Error(`Cannot install Stryker: ${stderr.trim().split('\n').at(-1) || message}`, {
        cause: error,
      });
    }
    writeFileSync(INSTALLED, wanted);
  });
}
