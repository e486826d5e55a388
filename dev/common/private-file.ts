import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes JSON that only its owner reads, at once or not at all. */
export function writePrivate(path: string, content: unknown): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

/** The JSON in a file, or null when there is none. @throws a sentence when the file holds something else */
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
