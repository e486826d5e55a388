import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The folder that contains `cli/`: a checkout, the installed package, or the service that the package unpacked. */
export const ROOT = dirname(import.meta.dirname);

/** The first step of `npm start`, in a checkout. */
export const LAUNCHER = join(ROOT, 'dev', 'run.mjs');

/**
 * Returns the folder with the data of the local service: `.local/` of the checkout of this file. The installed package
 * has none. There it is `.baton/` of the current folder, where `npx baton start` keeps it.
 */
export function localFolder(env: NodeJS.ProcessEnv): string {
  if (env.BATON_DATA) return resolve(env.BATON_DATA);
  return existsSync(LAUNCHER) ? join(ROOT, '.local') : resolve('.baton');
}
