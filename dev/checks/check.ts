import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { checkout, inCheckout } from '../common/paths.ts';
import { inSeconds } from '../common/progress.ts';
import { NOT_CHECKED } from './exit-codes.ts';

/* `npm run check`: all checks of the code that need no running service. Runs every part, even if one fails. */

/** The folders to which the dependency rules apply, if they exist. */
const FOLDERS = [
  'src',
  'workers',
  'cli',
  'web',
  'clients',
  'dev',
  'bench',
  'faults',
  'simulation',
  'deploy',
  'examples',
  'test',
].filter((folder) => existsSync(inCheckout(folder)));

type Part = { title: string; command: string; args: string[]; shows?: boolean };

/** Returns a program in `dev/`, run by the current Node. */
const own = (file: string) => ({ command: process.execPath, args: [inCheckout('dev', file)] });

const PARTS: Part[] = [
  // The types for the screens and the client are generated from the routes. Later parts need them.
  { title: 'API types', ...own('types/web-types.ts') },
  { title: 'types for clients', ...own('types/client-types.ts') },
  { title: 'format', command: 'biome', args: ['format', '.'] },
  { title: 'lint', command: 'oxlint', args: ['--type-aware'] },
  { title: 'types', command: 'tsc', args: ['--pretty'] },
  { title: 'types of screens', command: 'tsc', args: ['--pretty', '-p', 'web'] },
  { title: 'types of client', command: 'tsc', args: ['--pretty', '-p', 'clients/typescript', '--noEmit'] },
  {
    title: 'dependency rules',
    command: 'depcruise',
    args: ['--config', '.dependency-cruiser.cjs', ...FOLDERS],
  },
  { title: 'unused code', command: 'knip', args: ['--no-config-hints'] },
  { title: 'licences', ...own('checks/licences.ts'), shows: true },
  { title: 'known vulnerabilities', ...own('checks/audit.ts'), shows: true },
  { title: 'wording', ...own('checks/wording.ts') },
  { title: 'screens', ...own('checks/web-check.ts'), shows: true },
];

type Outcome = { result: 'passed' | 'failed' | 'skipped'; output: string; ms: number };

function run(command: string, args: string[]): Promise<Outcome> {
  const began = performance.now();
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = spawn(resolve(checkout, 'node_modules', '.bin', command), args, {
    cwd: checkout,
    env: { ...process.env, ...colour },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((done) => {
    const end = (result: Outcome['result']) => done({ result, output, ms: performance.now() - began });
    child.once('error', (error) => {
      output += error.message;
      end('failed');
    });
    child.once('close', (code) => end(code === 0 ? 'passed' : code === NOT_CHECKED ? 'skipped' : 'failed'));
  });
}

const MARKS = { passed: '✓', failed: '✗', skipped: '–' } as const;
const titles: Record<Outcome['result'], string[]> = { passed: [], failed: [], skipped: [] };
for (const { title, command, args, shows } of PARTS) {
  const { result, output, ms } = await run(command, args);
  console.log(`  ${MARKS[result]} ${title.padEnd(18)} ${inSeconds(ms)}  (${basename(command)})`);
  titles[result].push(title);
  if (result !== 'passed' || shows) console.log(output.trimEnd());
}
const { failed, skipped } = titles;
if (skipped.length > 0) console.log(`Not checked: ${skipped.join(', ')}.`);
console.log(
  failed.length > 0
    ? `Failed: ${failed.join(', ')}.`
    : `All ${skipped.length > 0 ? 'other ' : ''}checks passed.`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
