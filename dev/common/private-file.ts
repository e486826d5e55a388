import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a JSON file that only its owner can read, completely or not at all. */
export function writePrivate(path: string, content: unknown): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

/** Returns the JSON in a file; null if the file is missing. @throws Error if the content is invalid */
export function readPrivate<T>(path: string, check: (content: unknown) => T): T | null {
  if (!existsSync(path)) return null;
  try {
    return check(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    });
  }
}
