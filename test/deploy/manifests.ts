import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- manifests have every shape
export type Manifest = { apiVersion: string; kind: string; metadata: any; [member: string]: any };

/** All objects of a YAML file. */
export function manifestsOf(path: string): Manifest[] {
  return manifestsIn(readFileSync(path, 'utf8'));
}

/** All objects of a YAML text. Documents with comments alone are none. */
export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      return document.toJS() as Manifest | null;
    })
    .filter((one) => one !== null);
}

/** The chart with its default values. */
export const RENDERED = inCheckout('deploy', 'kubernetes', 'baton.yaml');

/** Returns whether a label selector matches these labels. */
export function selects(selector: Record<string, string>, labels: Record<string, string>): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([name, value]) => labels[name] === value);
}
