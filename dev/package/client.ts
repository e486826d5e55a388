import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeClientTypes } from '../types/client-types.ts';
import { inCheckout } from '../common/paths.ts';
import { npmPack, run } from './npm-pack.ts';

/* `npm run client`: builds and packs the client package for TypeScript. */

const SOURCE = inCheckout('clients', 'typescript');

/**
 * Compiles the package into a folder: JavaScript modules and their types.
 * @throws Error with the output of the compiler
 */
export async function buildClient(folder: string): Promise<void> {
  await writeClientTypes();
  rmSync(folder, { recursive: true, force: true });
  const compiler = inCheckout('node_modules', '@typescript', 'native', 'bin', 'tsc');
  run(process.execPath, [compiler, '-p', SOURCE, '--outDir', folder]);
  // The compiler does not change the imports in type files. They name the sources, which are not in the package.
  for (const file of globSync('**/*.d.ts', { cwd: folder })) {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(['"]\.{1,2}\/[^'"]*)\.ts(['"])/g, '$1.js$2'));
  }
}

/**
 * Builds and packs the package outside the checkout, so that several processes may do it at once.
 * @returns the path of the tarball below `folder`
 */
export async function packClient(folder: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), 'baton-client-'));
  try {
    await buildClient(join(stage, 'dist'));
    const description = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8')) as { version: string };
    // The scripts only work in the checkout. The version is that of the service.
    const published: Record<string, unknown> = { ...description, version };
    delete published['scripts'];
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
    copyFileSync(join(SOURCE, 'README.md'), join(stage, 'README.md'));
    return npmPack(stage, folder);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  // The script that `npm pack` calls in the folder of the package passes `dist`.
  if (process.argv[2] === 'dist') await buildClient(join(SOURCE, 'dist'));
  else console.log(await packClient(process.argv[2] ?? SOURCE));
}
