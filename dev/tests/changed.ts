import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Larger files are not written by hand, so they are not read. */
const LARGEST_BYTES = 400_000;
const TEXT = /\.(?:[cm]?[jt]sx?|ya?ml|py|css|html|sh)$/;

/**
 * Returns the files that differ from a commit: committed since, changed, or new. Paths are from the repository's root.
 * @throws when git is missing or does not know the commit
 */
export function changedFiles(root: string, since: string): string[] {
  const changed = git(root, ['diff', '--name-only', since, '--']);
  const added = git(root, ['ls-files', '--others', '--exclude-standard']);
  return [...new Set([...changed, ...added])];
}

/** Returns every file of the repository that git does not ignore, with its text; the text of other files is empty. */
export function repositoryFiles(root: string): Map<string, string> {
  const paths = git(root, ['ls-files', '--cached', '--others', '--exclude-standard']);
  return new Map(
    paths.filter((path) => existsSync(join(root, path))).map((path) => [path, textOf(root, path)]),
  );
}

function textOf(root: string, path: string): string {
  const file = join(root, path);
  return TEXT.test(path) && statSync(file).size <= LARGEST_BYTES ? readFileSync(file, 'utf8') : '';
}

function git(root: string, args: string[]): string[] {
  const { status, stdout, stderr, error } = spawnSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw new Error(`--changed needs git: ${error.message}`);
  if (status !== 0) throw new Error(`--changed: git ${args[0]} failed: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
}
