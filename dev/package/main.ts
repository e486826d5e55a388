import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { NPMRC, STAMP } from '../../cli/start-service.ts';
import { inCheckout } from '../common/paths.ts';
import { buildClient } from './client.ts';
import { bundleCommandLine } from './command-line.ts';
import { npmPack } from './npm-pack.ts';

/*
 * `npm run package [-- FOLDER]`: packs `baton`. `npx baton` is the command line, `baton/client` the client, and
 * `npx baton start` unpacks the folder `service`, installs its packages and runs it.
 */

/** The files of the service: what `npm start` and the image need, and what the API serves. */
const SERVICE = [
  '{package,package-lock,tsconfig}.json',
  '{agents,temporal-dev}.yml',
  'llms.txt',
  '{src,workers,cli,skills}/**/*',
  'docs/**/*.md',
  'clients/typescript/src/*.ts',
  'clients/typescript/src/verify/**/*.ts',
  'examples/receivers/**/*.{ts,py,go}',
  'web/**/*.{ts,tsx,css,html,svg,json}',
  'dev/{run.mjs,remove-unread.mjs,package.json,node/package.json}',
  'dev/{common,launcher,services}/**/*',
  'deploy/{.env.example,Containerfile,bundles.ts,compose.yaml,healthcheck.mjs,make-env.sh,process.sh}',
  'deploy/compose/**/*',
  '.{npmrc,dockerignore}',
];
const NOT_SERVICE = /^web\/(dist|\.generated|\.building-)|node_modules/;

/** Packs the package. Returns the path of the tarball below `folder`. */
export async function packBaton(folder: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), 'baton-package-'));
  try {
    await bundleCommandLine(join(stage, 'cli'));
    await buildClient(join(stage, 'client'));
    copyService(join(stage, 'service'));
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(description(), null, 2)}\n`);
    copyFileSync(inCheckout('dev', 'package', 'README.md'), join(stage, 'README.md'));
    return npmPack(stage, folder);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Copies the service, with a file that names its content. */
function copyService(folder: string): void {
  const hash = createHash('sha256');
  const files = globSync(SERVICE, { cwd: inCheckout(), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(inCheckout().length + 1))
    .filter((file) => !NOT_SERVICE.test(file));
  for (const file of files.toSorted()) {
    const place = join(folder, file === NPMRC.unpacked ? NPMRC.packed : file);
    mkdirSync(dirname(place), { recursive: true });
    copyFileSync(inCheckout(file), place);
    hash.update(`${file}\0`).update(readFileSync(place)).update('\0');
  }
  writeFileSync(join(folder, STAMP), `${hash.digest('hex')}\n`);
}

function description() {
  const { name, version, license, type, engines } = JSON.parse(
    readFileSync(inCheckout('package.json'), 'utf8'),
  ) as Record<string, unknown>;
  const client = (path: string) => ({ types: `${path}.d.ts`, default: `${path}.js` });
  return {
    name,
    version,
    description:
      'Submit tasks to AI agents, follow their runs, and deliver webhooks: service, command line, client',
    license,
    type,
    engines,
    bin: { baton: 'cli/baton.mjs' },
    exports: {
      './client': client('./client/index'),
      './client/verify': client('./client/verify/index'),
      './package.json': './package.json',
    },
  };
}

if (import.meta.main) console.log(await packBaton(resolve(process.argv[2] ?? '.')));
