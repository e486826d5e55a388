import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../common/paths.ts';
import { judgeLicences, type Package } from './licence-rules.ts';

/* `node dev/checks/licences.ts [list]`: checks the licences of all packages. `list` prints the shipped packages. */

type Entry = {
  version?: string;
  license?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};
type Packages = Record<string, Entry>;

/** Packages of the screens that build them and are no part of what they build. */
const BUILDERS = ['vite', '@vitejs/plugin-react'];

const packagesOf = (path: string) =>
  (JSON.parse(readFileSync(inCheckout(path), 'utf8')) as { packages: Packages }).packages;
const service = packagesOf('package-lock.json');
const shipped = placesThatShip(service);
const packages = [...Object.entries(service), ...Object.entries(packagesOf('dev/mutation/package-lock.json'))]
  .filter(([path, { link }]) => path.startsWith('node_modules/') && !link)
  .map(([path, entry]): Package => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const { version = '', license } = entry;
    return { name, version, licence: license ?? ownLicence(path), ships: shipped.has(entry) };
  });
const { faults, counts } = judgeLicences(packages);

if (process.argv[2] === 'list') {
  const ships = packages
    .filter(({ ships: does }) => does)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, version, licence } of ships) console.log(`${licence}\t${name}@${version}`);
} else {
  console.log(`    ${counts.map(([licence, count]) => `${count} ${licence}`).join(', ')}`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

/** Returns the licence in the package itself, for packages without one in the lock file; empty if there is none. */
function ownLicence(path: string): string {
  try {
    const { license, licenses } = JSON.parse(readFileSync(inCheckout(path, 'package.json'), 'utf8')) as {
      license?: string | { type?: string };
      licenses?: { type?: string }[];
    };
    const [first] = licenses ?? [];
    return (typeof license === 'object' ? license.type : license) ?? first?.type ?? '';
  } catch {
    // The lock file also contains packages for other platforms, which are not installed.
    return '';
  }
}

/** Returns the packages that the service and its screens contain, with all that these need. */
function placesThatShip(all: Packages): Set<Entry> {
  const found = new Set<Entry>();
  const visit = (path: string, names: readonly string[]) => {
    for (const name of names) {
      const at = installedPath(all, path, name);
      const entry = at === null ? undefined : all[at];
      if (at === null || !entry || found.has(entry)) continue;
      found.add(entry);
      const { dependencies, optionalDependencies, peerDependencies } = entry;
      visit(at, Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    }
  };
  visit('', Object.keys(all['']?.dependencies ?? {}));
  visit(
    'web',
    Object.keys(all['web']?.dependencies ?? {}).filter((name) => !BUILDERS.includes(name)),
  );
  return found;
}

/** Returns where Node finds a package that a package at `path` imports; null if it is not installed. */
function installedPath(all: Packages, path: string, name: string): string | null {
  const own = join(path, 'node_modules', name);
  if (own in all) return own;
  if (path === '') return null;
  const above = path.lastIndexOf('/node_modules/');
  return installedPath(all, above < 0 ? '' : path.slice(0, above), name);
}
