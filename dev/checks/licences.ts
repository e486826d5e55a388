import { readFileSync } from 'node:fs';
import { inCheckout } from '../common/paths.ts';
import { judgeLicences, type Package } from './licence-rules.ts';
import { lockedPackages, shippedPackages } from './shipped-packages.ts';

/* `node dev/checks/licences.ts [list]`: checks the licences of all packages. `list` prints the shipped packages. */

const service = lockedPackages('package-lock.json');
const shipped = shippedPackages(service);
const packages = [
  ...Object.entries(service),
  ...Object.entries(lockedPackages('dev/mutation/package-lock.json')),
]
  .filter(([path, { link }]) => path.startsWith('node_modules/') && !link)
  .map(([path, entry]): Package => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const { version = '', license } = entry;
    return { name, version, licence: license ?? ownLicence(path), ships: shipped.get(path) === entry };
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
