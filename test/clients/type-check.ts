import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';

const STRICT = { strict: true, noEmit: true, target: 'es2022', skipLibCheck: false };

/**
 * Compiles programs in a separate folder below `project`, so that they find the packages installed there. `types` in the
 * options are those of the checkout.
 * @returns the errors of the compiler, or an empty text
 */
export function typeCheck(
  project: string,
  programs: Readonly<Record<string, string>>,
  options: Record<string, unknown>,
): string {
  const folder = mkdtempSync(join(project, 'checked-'));
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const compilerOptions = { ...STRICT, typeRoots: [inCheckout('node_modules', '@types')], ...options };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: Object.keys(programs) }),
  );
  const compiler = inCheckout('node_modules', '@typescript', 'native', 'bin', 'tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', folder], {
    encoding: 'utf8',
  });
  return status === 0 ? '' : stdout + stderr;
}
