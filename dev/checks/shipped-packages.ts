import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../common/paths.ts';

/** A package in a lock file. */
export type LockedPackage = {
  version?: string;
  license?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};
/** The packages of a lock file by their paths. The root has the path ''. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** Packages of the screens that build them and are no part of what they build. */
const BUILDERS = ['vite', '@vitejs/plugin-react'];

/** Returns the packages of a lock file. */
export function lockedPackages(path: string): LockedPackages {
  return (JSON.parse(readFileSync(inCheckout(path), 'utf8')) as { packages: LockedPackages }).packages;
}

/** Returns the direct dependencies of the service and of the built screens, with their versions. */
export function shippedDependencies(all: LockedPackages): Record<string, string> {
  return { ...dependenciesOfScreens(all), ...all['']?.dependencies };
}

function dependenciesOfScreens(all: LockedPackages): Record<string, string> {
  const needed = Object.entries(all['web']?.dependencies ?? {}).filter(([name]) => !BUILDERS.includes(name));
  return Object.fromEntries(needed);
}

/** Returns the packages that the service and its screens contain, with all that these need, by their paths. */
export function shippedPackages(all: LockedPackages): Map<string, LockedPackage> {
  const found = new Map<string, LockedPackage>();
  const visit = (path: string, names: readonly string[]) => {
    for (const name of names) {
      const at = installedPath(all, path, name);
      const entry = at === null ? undefined : all[at];
      if (at === null || !entry || found.has(at)) continue;
      found.set(at, entry);
      const { dependencies, optionalDependencies, peerDependencies } = entry;
      visit(at, Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    }
  };
  visit('', Object.keys(all['']?.dependencies ?? {}));
  visit('web', Object.keys(dependenciesOfScreens(all)));
  return found;
}

/** Returns where Node finds a package that a package at `path` imports; null if it is not installed. */
function installedPath(all: LockedPackages, path: string, name: string): string | null {
  const own = join(path, 'node_modules', name);
  if (own in all) return own;
  if (path === '') return null;
  const above = path.lastIndexOf('/node_modules/');
  return installedPath(all, above < 0 ? '' : path.slice(0, above), name);
}
