import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { manifestsIn, type Manifest } from './manifests.ts';

export const CHART = inCheckout('deploy', 'chart');

export type Release = { name?: string; namespace?: string; upgrade?: boolean };

/**
 * Renders the chart with Helm, without a cluster. `values`: what differs from the defaults.
 * @throws Error with Helm's message if it rejects the values
 */
export function renderText(helm: string, values: object = {}, release: Release = {}): string {
  const { name = 'baton', namespace = 'baton', upgrade = false } = release;
  const words = [
    'template',
    name,
    CHART,
    '--namespace',
    namespace,
    '--kube-version',
    '1.37.0',
    '--values',
    '-',
  ];
  if (upgrade) words.push('--is-upgrade');
  // JSON is YAML.
  const input = JSON.stringify(values);
  const { status, stdout, stderr } = spawnSync(helm, words, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Returns the rendered objects. @throws Error with Helm's message if it rejects the values */
export function render(helm: string, values?: object, release?: Release): Manifest[] {
  return manifestsIn(renderText(helm, values, release));
}

/** Returns the SHA-256 of all files that the rendering depends on. */
export function chartDigest(): string {
  const files = globSync(['Chart.yaml', 'values.yaml', 'templates/*'], { cwd: CHART }).toSorted();
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(CHART, file)))
      .update('\0');
  return hash.digest('hex');
}
