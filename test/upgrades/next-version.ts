import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout, inCheckout } from '../../dev/common/paths.ts';

/** A checkout of the next version of the service. */
export type NextVersion = { folder: string; remove(): void };

/** Duration of the additional first step of the next version, by which its histories can be recognized. */
export const ADDED_STEP_MS = 7;

const NEEDED = ['src', 'workers', 'agents.yml', 'package.json', 'package-lock.json'];

/**
 * Creates a copy of this checkout whose runs have an additional first step: a history of either version cannot be
 * replayed by the other.
 */
export function makeNextVersion(): NextVersion {
  const folder = mkdtempSync(join(tmpdir(), 'baton-next-version-'));
  for (const name of NEEDED) cpSync(inCheckout(name), join(folder, name), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'src', 'workflows', 'task-run.ts');
  const text = readFileSync(file, 'utf8');
  const first = '  handleMessages(run);\n';
  assert.equal(text.split(first).length, 2, 'the place where a run begins is found');
  const changed = text.replace(first, `${first}  await sleep(${ADDED_STEP_MS});\n`);
  writeFileSync(file, `import { sleep } from '@temporalio/workflow';\n${changed}`);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
