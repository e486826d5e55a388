import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { inCheckout, local } from '../common/paths.ts';
import { lockedPackages, shippedDependencies, shippedPackages } from './shipped-packages.ts';

/*
 * `npm run sbom [-- FILE]`: writes a software bill of materials of the packages that the image contains, as CycloneDX, or as SPDX
 * if the name of the file ends with `.spdx.json`.
 */

/**
 * Returns the bill of materials that npm writes, with the packages of the service and of the built screens.
 *
 * npm reads a description that contains only these. `npm sbom --omit dev` in the checkout leaves out every package that a tool of
 * the tests needs, too, such as Koa.
 * @throws Error with the message of npm
 */
export function billOfMaterials(format: 'cyclonedx' | 'spdx'): string {
  const all = lockedPackages('package-lock.json');
  const { name, version, description, license } = JSON.parse(
    readFileSync(inCheckout('package.json'), 'utf8'),
  );
  const root = { name, version, description, license, dependencies: shippedDependencies(all) };
  const packages = { '': root, ...Object.fromEntries(shippedPackages(all)) };
  const folder = mkdtempSync(join(tmpdir(), 'baton-sbom-'));
  // npm names the bill after the folder.
  const stage = join(folder, name);
  try {
    mkdirSync(stage);
    writeFileSync(join(stage, 'package.json'), JSON.stringify(root));
    writeFileSync(
      join(stage, 'package-lock.json'),
      JSON.stringify({ name, version, lockfileVersion: 3, requires: true, packages }),
    );
    const words = ['sbom', '--package-lock-only', '--sbom-format', format, '--sbom-type', 'application'];
    return execFileSync('npm', words, { cwd: stage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8')) as { version: string };
  const file = resolve(process.argv[2] ?? local(`baton-${version}.cdx.json`));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, billOfMaterials(file.endsWith('.spdx.json') ? 'spdx' : 'cyclonedx'));
  console.log(`  written: ${file}`);
}
