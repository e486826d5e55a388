import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkout } from '../../dev/common/paths.ts';
import { formatTable } from './measure.ts';

/** The used part of V8's CPU profile. Times are microseconds of the monotonic clock. */
export type CpuProfile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
};

/** A file next to the profiles of a process: when it became ready, in microseconds of the monotonic clock. */
export const READY_FILE = 'ready-at';
const TOP = 15;

export type SelfTimes = {
  /** Milliseconds in which the process was not idle. */
  busyMs: number;
  /** Milliseconds by package, our folder or part of Node, and by function. */
  byPlace: [place: string, ms: number][];
  byFunction: [name: string, ms: number][];
};

/** Sums up the self times of profiles from the microsecond `since` on. Both lists are in descending order. */
export function sumSelfTimes(profiles: readonly CpuProfile[], since = 0): SelfTimes {
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, ms: number) =>
    sums.set(key, (sums.get(key) ?? 0) + ms);
  let busyMs = 0;
  for (const { nodes, startTime, samples, timeDeltas } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    let at = startTime;
    for (const [index, id] of samples.entries()) {
      // A delta is the time before its sample, so a sample lasts until the next one.
      at += timeDeltas[index] ?? 0;
      const ms = (timeDeltas[index + 1] ?? 0) / 1_000;
      const frame = frames.get(id);
      if (!frame || ms === 0 || at < since || frame.functionName === '(idle)') continue;
      busyMs += ms;
      const location = placeOf(frame.url, frame.functionName);
      add(places, location, ms);
      add(functions, `${frame.functionName || '(anonymous)'}  ${fileOf(frame.url, frame.lineNumber)}`, ms);
    }
  }
  const most = (sums: Map<string, number>) => [...sums].toSorted(([, a], [, b]) => b - a);
  return { busyMs, byPlace: most(places), byFunction: most(functions) };
}

/** Returns the package, our folder, or the part of Node that a function belongs to. */
export function placeOf(url: string, functionName: string): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  if (url.startsWith('evalmachine')) return 'workflow sandbox';
  const [, ...packages] = url.split('/node_modules/');
  const inner = packages.at(-1)?.split('/') ?? [];
  if (inner.length > 0) return inner.slice(0, inner[0]?.startsWith('@') ? 2 : 1).join('/');
  const path = ownPath(url);
  // The only code there is the bundle of the workflows.
  return path.startsWith('.local/') ? 'workflow bundle' : path.split('/').slice(0, 2).join('/');
}

function ownPath(url: string): string {
  const path = url.replace(/^file:\/\//, '');
  return path.startsWith(`${checkout}/`) ? path.slice(checkout.length + 1) : path;
}

function fileOf(url: string, line: number): string {
  if (url === '') return '';
  return `${ownPath(url).replace(/^.*node_modules\//, '')}:${line + 1}`;
}

/** Formats the hottest places of each process with profiles in a folder below `folder`. */
export function formatProfiles(folder: string): string {
  const folders = globSync('*/*.cpuprofile', { cwd: folder }).map((file) => dirname(file));
  const parts = [...new Set(folders)].toSorted().map((name) => {
    const files = globSync('*.cpuprofile', { cwd: join(folder, name) });
    const profiles = files.map(
      (file) => JSON.parse(readFileSync(join(folder, name, file), 'utf8')) as CpuProfile,
    );
    const { busyMs, byPlace, byFunction } = sumSelfTimes(profiles, readReadyTime(join(folder, name)));
    const share = ([what, ms]: [string, number]) => [
      what,
      `${ms.toFixed(0)} ms`,
      `${((100 * ms) / busyMs).toFixed(1)} %`,
    ];
    return [
      `${name}: busy for ${busyMs.toFixed(0)} ms under load, self time by place`,
      formatTable(byPlace.slice(0, TOP).map(share)),
      `${name}: by function`,
      formatTable(byFunction.slice(0, TOP).map(share)),
    ].join('\n');
  });
  return parts.join('\n\n');
}

function readReadyTime(folder: string): number {
  try {
    return Number(readFileSync(join(folder, READY_FILE), 'utf8'));
  } catch {
    return 0;
  }
}
