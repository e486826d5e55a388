import { join } from 'node:path';
import { z } from 'zod';
import { configFolder, readJsonFile, writeSecretJson } from './files.ts';

/** Maximum number of stored secrets. The newest are kept. */
const MAX_STORED = 500;

const secretsSchema = z.record(z.string(), z.string());

const pathIn = (env: NodeJS.ProcessEnv) => join(configFolder(env), 'callback-secrets.json');

/** Stores the secret of a run that was submitted here, so that `baton receiver` can check its callback. */
export function storeCallbackSecret(env: NodeJS.ProcessEnv, executionId: string, secret: string): void {
  const path = pathIn(env);
  const known = Object.entries(readJsonFile(path, secretsSchema) ?? {}).slice(-MAX_STORED + 1);
  writeSecretJson(path, Object.fromEntries([...known, [executionId, secret]]));
}

/** Returns the secret of a run that was submitted here. */
export function callbackSecretOf(env: NodeJS.ProcessEnv, executionId: string): string | undefined {
  const known = readJsonFile(pathIn(env), secretsSchema) ?? {};
  return Object.hasOwn(known, executionId) ? known[executionId] : undefined;
}
