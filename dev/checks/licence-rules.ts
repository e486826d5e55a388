/** A package as the rules look at it; `licence` is an SPDX expression, `ships` where the service needs it to run. */
export type Package = { name: string; version: string; licence: string; ships: boolean };

/** Licences that ask for nothing but their text being kept; any package may have them. */
const FREE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);
/** Licences of tools alone: they are used as they are, and nothing of them is passed on. */
const FOR_TOOLS = new Set(['MPL-2.0']);
/** Packages that tell their licence in a text (LICENSE, README) and not in their description: read at this version. */
const READ: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/server-everything@2026.8.31': 'MIT',
  '@modelcontextprotocol/server-filesystem@2026.8.31': 'MIT',
  'unionfs@4.6.0': 'Unlicense',
};

/**
 * A sentence for each package whose licence is none of those allowed, and how many packages that ship have which.
 */
export function judgeLicences(packages: readonly Package[]): {
  faults: string[];
  counts: [licence: string, count: number][];
} {
  const counts = new Map<string, number>();
  const faults: string[] = [];
  for (const { name, version, licence: declared, ships } of packages) {
    const licence = READ[`${name}@${version}`] ?? declared;
    const allowed = ships ? FREE : FREE.union(FOR_TOOLS);
    if (!allows(licence, allowed)) {
      const which = licence === '' ? 'no licence' : `the licence ${licence}`;
      faults.push(`${name}@${version} has ${which}, which ${ships ? 'what ships' : 'a tool'} may not have.`);
    }
    if (ships) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  }
  return { faults, counts: [...counts].toSorted(([, one], [, other]) => other - one) };
}

/** Whether an SPDX expression lets a package be used by one of these licences: any side of OR, both sides of AND. */
function allows(expression: string, allowed: ReadonlySet<string>): boolean {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const one = (): boolean => {
    const word = words[at];
    at += 1;
    if (word !== '(') return word !== undefined && allowed.has(word);
    const inner = either();
    at += 1;
    return inner;
  };
  const both = (): boolean => {
    let isFine = one();
    while (words[at] === 'AND') {
      at += 1;
      isFine = one() && isFine;
    }
    return isFine;
  };
  const either = (): boolean => {
    let isFine = both();
    while (words[at] === 'OR') {
      at += 1;
      isFine = both() || isFine;
    }
    return isFine;
  };
  const isFine = either();
  // What is left over was understood wrongly, for example "SEE LICENSE IN FILE".
  return isFine && at === words.length;
}
