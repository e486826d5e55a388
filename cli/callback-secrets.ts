import { join } from 'node:path';
import { configFolder, readJsonFile, writeSecretJson } from './files.ts';

/** How many are kept, the newest ones. */
const KEPT = 500;

type Secrets = Record<string, string>;

const pathIn = (env: NodeJS.ProcessEnv) => join(configFolder(env), 'callback-secrets.json');

/** Keeps the secret of a run that was submitted here, so that `baton receiver` can check its callback. */
export function keepCallbackSecret(env: NodeJS.ProcessEnv, executionId: string, secret: string): void {
  const path = pathIn(env);
  const known = Object.entries(readJsonFile<Secrets>(path) ?? {}).slice(-KEPT + 1);
  writeSecretJson(path, Object.fromEntries([...known, [executionId, secret]]));
}

/** The secret of a run, where it was submitted here. */
export function callbackSecretOf(env: NodeJS.ProcessEnv, executionId: string): string | undefined {
  const known = readJsonFile<Secrets>(pathIn(env)) ?? {};
  return Object.hasOwn(known, executionId) ? known[executionId] : undefined;
}
