import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

// oxlint-disable-next-line typescript/no-explicit-any -- manifests have every shape
export type Manifest = { apiVersion: string; kind: string; metadata: any; [member: string]: any };

/** All objects of a YAML file. */
export function manifestsOf(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return document.toJS() as Manifest;
  });
}

/** Paths of the YAML files of a folder. */
export function yamlFilesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(folder, name))
    .toSorted();
}

/** Returns whether a label selector matches these labels. */
export function selects(selector: Record<string, string>, labels: Record<string, string>): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([name, value]) => labels[name] === value);
}
