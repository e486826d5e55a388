import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { usageError } from './exit-codes.ts';

/** Returns the folder of the user's own files: `$XDG_CONFIG_HOME/baton`, otherwise `~/.config/baton`. */
export function configFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'baton');
}

/**
 * Returns the content of a JSON file; null if it does not exist. Throws a CliError if it cannot be read or does not
 * match `schema`.
 */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): T | null {
  let text: string;
  try {
    text = withoutBom(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return null;
    throw usageError(`Cannot read ${path}`);
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw usageError(`${path} is damaged. Remove it and try again`);
  }
}

/** Returns the text without the byte order mark (BOM) that some editors write at the start of a file. */
export function withoutBom(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/** Writes a file atomically that only its owner can read. */
export function writeSecretJson(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  chmodSync(fresh, 0o600);
  renameSync(fresh, path);
}
