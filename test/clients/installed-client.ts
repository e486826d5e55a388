import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Baton, BatonOptions } from '../../clients/typescript/src/index.ts';
import type * as main from '../../clients/typescript/src/index.ts';
import type * as verify from '../../clients/typescript/src/verify/index.ts';
import { packClient } from '../../dev/package/client.ts';
import type { World } from '../support/world.ts';

type Client = typeof main & {
  /** The exports of `baton-client/verify`. */
  verify: typeof verify;
};

/** The client package as its users have it: packed, and installed into a separate project. */
export type InstalledClient = {
  /** The project in which it is installed. It contains nothing else. */
  project: string;
  /** The package below the project's node_modules. */
  folder: string;
  /** Imports the package by its name from within the project. */
  load(): Promise<Client>;
};

const run = promisify(execFile);
const LOADER = `export * from 'baton-client';\nexport * as verify from 'baton-client/verify';\n`;

let installing: Promise<InstalledClient> | null = null;

/**
 * Builds, packs and installs the package once for all test files of this process, which removes it at its exit.
 * @throws with the output of the compiler or npm
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

/** The client package in a test: `connect` creates a client of the world's API, `baton` is one with the owner's key. */
export type ClientInUse = {
  client: Client;
  baton: Baton;
  connect(options?: Partial<BatonOptions>): Baton;
};

/** Registers a hook that installs the package for the tests of a `describe`. The result is filled before they run. */
export function useClient(world: World): ClientInUse {
  const client = {} as Client;
  const baton = {} as Baton;
  const connect = (options: Partial<BatonOptions> = {}) =>
    client.createBaton({ baseUrl: world.api.url, apiKey: world.installation.api_key, ...options });
  before(async () => {
    Object.assign(client, await (await installedClient()).load());
    Object.assign(baton, connect());
  });
  return { client, baton, connect };
}

/** Returns submissions in the project of a world: of any task, and of one whose steps take a minute each. */
export const plansOf = (world: World) => {
  const plan = (fields: Record<string, unknown> = {}) => ({
    title: 'A task',
    project_id: world.installation.project_id,
    ...fields,
  });
  return { plan, slow: () => plan({ metadata: { rehearsal: { step_ms: 60_000 } } }) };
};

/** Returns assertions that an error is a problem of the API with a code and a status. */
export const problemOf = (client: Client) => (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof client.BatonProblem, String(error));
  assert.deepEqual([error.code, error.status], [code, status]);
  assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/);
  return true;
};
