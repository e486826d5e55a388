/** A package. `licence`: an SPDX expression; `ships`: whether the service needs the package at run time. */
export type Package = { name: string; version: string; licence: string; ships: boolean };

/** Licences whose only condition is that their text is kept. Every package may have them. */
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
/** Further licences for development tools, which are used unchanged and are not distributed. */
const FOR_TOOLS = new Set(['MPL-2.0']);
/** Packages that declare their licence only in a text (LICENSE, README), which was read at this version. */
const READ: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/server-everything@2026.8.31': 'MIT',
  '@modelcontextprotocol/server-filesystem@2026.8.31': 'MIT',
  'unionfs@4.6.0': 'Unlicense',
};

/** Returns a sentence for each package without an allowed licence, and the number of shipped packages by licence. */
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

/** Returns whether an SPDX expression allows the use under one of these licences: any side of OR, both sides of AND. */
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
  // If words are left, the expression was not understood, for example "SEE LICENSE IN FILE".
  return isFine && at === words.length;
}
