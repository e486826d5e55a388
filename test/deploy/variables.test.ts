import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inCheckout } from '../../dev/common/paths.ts';
import { readCompose, variablesIn } from './compose-file.ts';
import { environmentOf, readContainerfile } from './containerfile.ts';
import { manifestsOf, RENDERED } from './manifests.ts';

/** Read by Node, the C library and programs, not by the service. */
const OF_OTHERS = new Set([
  'NODE_ENV',
  'HOME',
  'MALLOC_ARENA_MAX',
  'MALLOC_TRIM_THRESHOLD_',
  'MALLOC_MMAP_THRESHOLD_',
]);
const OURS = ['api', 'gateway', 'task-worker', 'delivery-worker', 'migrate'];

const textOf = (...parts: string[]) => readFileSync(inCheckout(...parts), 'utf8');

/** Returns every variable with a row in docs/configuration.md. */
function documented(): Set<string> {
  const rows = textOf('docs', 'configuration.md')
    .split('\n')
    .filter((line) => /^\| `[A-Z]/.test(line));
  return new Set(
    rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
    ),
  );
}

/** Returns every variable that deploy/ sets for a process of the service, with the file. */
function given(): [string, string][] {
  const compose = readCompose(textOf('deploy', 'compose.yaml'));
  const inCompose = OURS.flatMap((name) => Object.keys(compose.services[name]?.environment ?? {}));
  const image = readContainerfile(inCheckout('deploy', 'Containerfile')).at(-1);
  const inImage = image ? Object.keys(environmentOf(image)) : [];
  const secrets = inCheckout('deploy', 'kubernetes', 'secret.example.yaml');
  const manifests = [RENDERED, secrets].flatMap(manifestsOf);
  const inKubernetes = manifests.flatMap((one) => Object.keys(one['data'] ?? one['stringData'] ?? {}));
  const from = (file: string, names: string[]) => names.map((name): [string, string] => [name, file]);
  return [
    ...from('compose.yaml', inCompose),
    ...from('Containerfile', inImage),
    ...from('kubernetes', inKubernetes),
  ];
}

describe('the environment variables in deploy/', () => {
  it('are all documented and read by the code', () => {
    const known = documented();
    const source = textOf('src', 'runtime', 'configuration.ts');
    const ours = given().filter(([name]) => !OF_OTHERS.has(name));
    assert.ok(ours.length > 30);
    for (const [name, file] of ours) {
      assert.ok(known.has(name), `${name} of ${file} is not in docs/configuration.md`);
      const read = new RegExp(`^  ${name}:`, 'm').test(source);
      assert.ok(
        read || name.startsWith('TEMPORAL_'),
        `${name} of ${file} is not in src/runtime/configuration.ts`,
      );
    }
  });

  it('are documented, except those of PostgreSQL, Temporal and the image', () => {
    const asked = variablesIn(textOf('deploy', 'compose.yaml')).all;
    const known = documented();
    const others = [...asked].filter((name) => !known.has(name));
    const ofBackings = [
      'BATON_DATABASE_PASSWORD',
      'BATON_IMAGE',
      'BATON_PROXY_IMAGE',
      'POSTGRES_PASSWORD',
      'PROXY_CHANNEL_REQUESTS_PER_10_S',
      'PROXY_HANDSHAKES_PER_10_S',
      'PROXY_NETWORK',
      'PROXY_REQUESTS_PER_SECOND',
      'PROXY_SIGN_INS_PER_MINUTE',
      'TEMPORAL_DATABASE_PASSWORD',
    ];
    assert.deepEqual(others.toSorted(), ofBackings);
  });
});
