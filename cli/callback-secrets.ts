import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { configFolder, readJsonFile, writeSecretJson } from './files.ts';

/** Maximum number of stored secrets. The newest are kept. */
const MAX_STORED = 500;

const secretSchema = z.object({ callback_secret: z.string() });

const folderIn = (env: NodeJS.ProcessEnv) => join(configFolder(env), 'callback-secrets');
/** The id is the server's, so it must not lead to another folder. */
const pathIn = (env: NodeJS.ProcessEnv, executionId: string) =>
  join(folderIn(env), `${encodeURIComponent(executionId)}.json`);

/**
 * Stores the secret of a run that was submitted here, so that `baton receiver` can check its callback. Each has its own file:
 * concurrent commands would lose each other's.
 */
export function storeCallbackSecret(env: NodeJS.ProcessEnv, executionId: string, secret: string): void {
  writeSecretJson(pathIn(env, executionId), { callback_secret: secret });
  removeOldest(folderIn(env));
}

/** Returns the secret of a run that was submitted here. */
export function callbackSecretOf(env: NodeJS.ProcessEnv, executionId: string): string | undefined {
  return readJsonFile(pathIn(env, executionId), secretSchema)?.callback_secret;
}

function removeOldest(folder: string): void {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  if (paths.length <= MAX_STORED) return;
  // Another command may have removed the same file.
  const dated = paths.map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  for (const { path } of dated.toSorted((a, b) => b.at - a.at).slice(MAX_STORED))
    rmSync(path, { force: true });
}
