import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';
import { inCheckout } from '../common/paths.ts';

/** Packages that `ws` uses if they are installed. */
const OPTIONAL = ['bufferutil', 'utf-8-validate'];
/** What only `baton admin` and `baton agents check` load. In the package, `baton.mjs` runs them with the unpacked service. */
const OF_SERVICE = /\/(cli\/admin|src\/(?:agents|database|runtime|temporal))\/|@temporalio\//;
const PACKAGE = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/**
 * Bundles the command line into a folder: JavaScript that needs no packages, and the licences of those it contains.
 * `start-service.js` is separate, since it also runs on the Node versions with which `npm start` begins.
 */
export async function bundleCommandLine(folder: string): Promise<void> {
  const output = (await build({
    configFile: false,
    root: inCheckout(),
    logLevel: 'error',
    ssr: { noExternal: true, external: OPTIONAL },
    build: {
      ssr: true,
      outDir: folder,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: [inCheckout('cli', 'main.ts'), inCheckout('cli', 'start-service.ts')],
        external: (id) => OF_SERVICE.test(id),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  })) as Rolldown.RolldownOutput;
  copyFileSync(inCheckout('cli', 'baton.mjs'), join(folder, 'baton.mjs'));
  const modules = output.output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
  writeFileSync(join(folder, 'LICENSES.txt'), licencesOf(modules));
}

/** Returns the licence texts of the packages that modules are from. @throws Error for a package without one */
function licencesOf(modules: readonly string[]): string {
  const packages = new Map(
    modules.flatMap((id) => {
      const [, folder = '', name = ''] = PACKAGE.exec(id) ?? [];
      return name === '' ? [] : [[name, folder] as const];
    }),
  );
  const names = [...packages.keys()].toSorted();
  return names
    .map((name) => {
      const folder = packages.get(name) ?? '';
      const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: folder });
      if (file === undefined) throw new Error(`${name} has no licence text`);
      return `${name}\n${'='.repeat(name.length)}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join('\n\n');
}
