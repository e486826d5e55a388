import { readFileSync } from 'node:fs';
import { inCheckout } from '../common/paths.ts';
import { judgeLicences, type Package } from './licence-rules.ts';

/* `node dev/checks/licences.ts [list]`: holds the licences of all packages against the rules; `list` prints what ships. */

type Lock = {
  packages: Record<string, { version?: string; license?: string; dev?: boolean; link?: boolean }>;
};
const packages = ['package-lock.json', 'dev/mutation/package-lock.json']
  .flatMap((path) => Object.entries((JSON.parse(readFileSync(inCheckout(path), 'utf8')) as Lock).packages))
  .filter(([place, { link }]) => place.startsWith('node_modules/') && !link)
  .map(([place, { version = '', license, dev = false }]): Package => {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return { name, version, licence: license ?? ownLicence(place), ships: !dev };
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

/** What a package says of itself where the lock file says nothing; empty where it says nothing either. */
function ownLicence(place: string): string {
  try {
    const { license, licenses } = JSON.parse(readFileSync(inCheckout(place, 'package.json'), 'utf8')) as {
      license?: string | { type?: string };
      licenses?: { type?: string }[];
    };
    const [first] = licenses ?? [];
    return (typeof license === 'object' ? license.type : license) ?? first?.type ?? '';
  } catch {
    // A package of another platform is in the lock file and not here.
    return '';
  }
}
