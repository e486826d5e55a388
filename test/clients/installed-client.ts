import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type * as main from '../../clients/typescript/src/index.ts';
import type * as verify from '../../clients/typescript/src/verify/index.ts';
import { packClient } from '../../dev/client-package.ts';

type Client = typeof main & {
  /** What `baton-client/verify` gives. */
  verify: typeof verify;
};

/** The client package as its users have it: packed, and installed into a project of its own. */
export type InstalledClient = {
  /** The project that it is installed into, which holds nothing else. */
  project: string;
  /** The package below the project's node_modules. */
  folder: string;
  /** What the package exports, loaded by its name from within the project. */
  load(): Promise<Client>;
};

const run = promisify(execFile);
const LOADER = `export * from 'baton-client';\nexport * as verify from 'baton-client/verify';\n`;

let installing: Promise<InstalledClient> | null = null;

/**
 * Builds, packs and installs the package, once for all test files of this process; it is removed when the process ends.
 * @throws what the compiler or npm says
 */
export function installedClient(): Promise<InstalledClient> {
  installing ??= install();
  return installing;
}

async function install(): Promise<InstalledClient> {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'baton-client-user-')));
  process.once('exit', () => rmSync(project, { recursive: true, force: true }));
  const tarballs = join(project, 'tarballs');
  mkdirSync(tarballs);
  const tarball = await packClient(tarballs);
  writeFileSync(join(project, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
  writeFileSync(join(project, 'load.js'), LOADER);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project });
  return {
    project,
    folder: join(project, 'node_modules', 'baton-client'),
    load: () => import(pathToFileURL(join(project, 'load.js')).href) as Promise<Client>,
  };
}
