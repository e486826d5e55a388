import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { readProcessConfiguration } from '../../src/runtime/process-configuration.ts';
import type { ProcessName } from '../../src/runtime/unneeded-secrets.ts';
import { manifestsOf, RENDERED, selects, type Manifest } from './manifests.ts';

const SECRETS = inCheckout('deploy', 'kubernetes', 'secret.example.yaml');
const base = manifestsOf(RENDERED);
const secrets = manifestsOf(SECRETS);

/** The Secrets that each process gets. A question mark means that the process also starts without it. */
const SECRETS_OF: Readonly<Record<string, readonly string[]>> = {
  api: ['baton-database', 'baton-sealing', 'baton-tokens', 'baton-temporal?', 'baton-api?', 'baton-mail?'],
  gateway: ['baton-database', 'baton-tokens', 'baton-temporal?'],
  'task-worker': ['baton-database', 'baton-sealing', 'baton-temporal?', 'baton-models?'],
  'delivery-worker': ['baton-database', 'baton-sealing', 'baton-temporal?', 'baton-mail?'],
  migrate: ['baton-database'],
};
const SERVING = ['api', 'gateway'];
const WORKING = ['delivery-worker', 'task-worker'];
/** The time limit of a shutdown in `src/runtime/process.ts`. */
const CLOSE_LIMIT_SECONDS = 20;

/** The oldest and the newest versions of Kubernetes that the manifests are for, and some of those since. */
const VERSIONS = ['1.30.0', '1.32.0', '1.34.0', '1.36.0', '1.37.0'];

const ofKind = (kind: string) => base.filter((one) => one.kind === kind);
const nameOf = ({ metadata }: Manifest) => metadata.name.replace(/^baton-/, '') as string;
const names = (manifests: Manifest[]) => manifests.map(nameOf).toSorted();
const deployments = ofKind('Deployment');
const configuration = ofKind('ConfigMap')[0]?.['data'] as Record<string, string>;
const podOf = (one: Manifest) => one['spec'].template;
const containerOf = (one: Manifest) => podOf(one).spec.containers[0];

/** The variables of Secrets, with values. */
function filled(wanted: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {
    DATABASE_URL: 'postgresql://baton:x@db.example.com/baton',
    BATON_SEALING_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    BATON_TOKEN_KEYS: `k1:${Buffer.alloc(32, 2).toString('base64')}`,
  };
  const some = secrets.filter(({ metadata }) => wanted.includes(metadata.name));
  const variables = some.flatMap(({ stringData }) => Object.keys(stringData));
  return Object.fromEntries(variables.map((name) => [name, values[name] ?? '']));
}

describe('the Kubernetes manifests', () => {
  it('match the schemas of several Kubernetes versions strictly', async function () {
    this.timeout(320_000);
    const tool = await pythonTool('kubernetes-validate');
    const wordsFor = (version: string) => ['--strict', '--quiet', '--kubernetes-version', version];
    for (const version of VERSIONS)
      await promisify(execFile)(tool, [...wordsFor(version), RENDERED, SECRETS]);
    const folder = mkdtempSync(join(tmpdir(), 'baton-manifests-'));
    try {
      const text = readFileSync(RENDERED, 'utf8');
      writeFileSync(join(folder, 'baton.yaml'), text.replace('readinessProbe', 'readynessProbe'));
      const words = [...wordsFor(VERSIONS[0] ?? ''), join(folder, 'baton.yaml')];
      const broken = spawnSync(tool, words, { encoding: 'utf8' });
      assert.equal(broken.status, 1);
      assert.match(`${broken.stdout}${broken.stderr}`, /readynessProbe/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('have the current image version', () => {
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
    for (const one of [...deployments, ...ofKind('Job')])
      assert.equal(containerOf(one).image, `registry.example.com/baton:${version}`);
    for (const { metadata } of [...base, ...secrets]) assert.equal(metadata.namespace, 'baton');
  });

  it('start each process of the image by its name', () => {
    assert.deepEqual(names(deployments), [...SERVING, ...WORKING].toSorted());
    for (const one of [...deployments, ...ofKind('Job')]) {
      const { args, command } = containerOf(one);
      assert.deepEqual({ args, command }, { args: [nameOf(one)], command: undefined });
    }
  });

  it('give every process minimal privileges', () => {
    for (const one of [...deployments, ...ofKind('Job')]) {
      const { spec } = podOf(one);
      assert.equal(spec.automountServiceAccountToken, false);
      assert.equal(spec.securityContext.runAsNonRoot, true);
      assert.equal(spec.securityContext.runAsUser, 1000);
      assert.deepEqual(spec.securityContext.seccompProfile, { type: 'RuntimeDefault' });
      assert.deepEqual(containerOf(one).securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const { requests, limits } = containerOf(one).resources;
      assert.ok(requests.cpu && requests.memory && limits.memory, one.metadata.name);
    }
  });

  it('give each process enough time to shut down', () => {
    const source = readFileSync(inCheckout('src', 'runtime', 'process.ts'), 'utf8');
    assert.match(source, new RegExp(`CLOSE_LIMIT_MS = ${CLOSE_LIMIT_SECONDS}_000;`));
    for (const one of deployments) {
      const before = containerOf(one).lifecycle?.preStop.sleep.seconds ?? 0;
      assert.equal(before > 0, SERVING.includes(nameOf(one)));
      assert.ok(podOf(one).spec.terminationGracePeriodSeconds > before + CLOSE_LIMIT_SECONDS);
      assert.deepEqual(one['spec'].strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
    }
  });

  it('probe each process at its health port', () => {
    for (const one of deployments) {
      const { ports, startupProbe, readinessProbe, livenessProbe } = containerOf(one);
      const port = (name: string) => ports.find((candidate: { name: string }) => candidate.name === name);
      assert.equal(port('metrics').containerPort, Number(configuration['METRICS_PORT']));
      assert.equal(podOf(one).metadata.annotations['prometheus.io/port'], configuration['METRICS_PORT']);
      const asked = SERVING.includes(nameOf(one)) ? 'http' : 'metrics';
      assert.equal(port('http')?.containerPort, asked === 'http' ? 3000 : undefined);
      assert.deepEqual(startupProbe.httpGet, { path: '/health/live', port: asked });
      assert.deepEqual(livenessProbe.httpGet, { path: '/health/live', port: asked });
      assert.deepEqual(readinessProbe.httpGet, { path: '/health/ready', port: asked });
    }
  });

  it('select the intended pods by label', () => {
    for (const one of deployments) {
      const name = nameOf(one);
      const { labels } = podOf(one).metadata;
      assert.ok(selects(one['spec'].selector.matchLabels, labels));
      for (const spread of podOf(one).spec.topologySpreadConstraints)
        assert.ok(selects(spread.labelSelector.matchLabels, labels));
      const chosen = deployments.filter((other) =>
        selects(one['spec'].selector.matchLabels, podOf(other).metadata.labels),
      );
      assert.deepEqual(names(chosen), [name]);
      const budget = ofKind('PodDisruptionBudget').find((other) => nameOf(other) === name);
      assert.ok(selects(budget?.['spec'].selector.matchLabels, labels));
    }
    assert.deepEqual(names(ofKind('Service')), SERVING);
    for (const service of ofKind('Service')) {
      const target = deployments.find((one) => nameOf(one) === nameOf(service));
      assert.ok(target && selects(service['spec'].selector, podOf(target).metadata.labels));
    }
  });

  it('scale by load, and define the number of pods in one place only', () => {
    assert.deepEqual(names(ofKind('HorizontalPodAutoscaler')), SERVING);
    for (const one of ofKind('HorizontalPodAutoscaler')) {
      assert.equal(one['spec'].scaleTargetRef.name, one.metadata.name);
      assert.ok(one['spec'].minReplicas >= 2);
    }
    for (const one of deployments)
      assert.equal(one['spec'].replicas, SERVING.includes(nameOf(one)) ? undefined : 2);
  });

  it('give each process its Secrets and no others, and a valid configuration', () => {
    for (const one of [...deployments, ...ofKind('Job')]) {
      const name = nameOf(one);
      const from = containerOf(one).envFrom as Record<string, { name: string; optional?: boolean }>[];
      const configMaps = from.flatMap(({ configMapRef }) => configMapRef ?? []);
      assert.deepEqual(configMaps, name === 'migrate' ? [] : [{ name: 'baton' }]);
      const given = from.flatMap(({ secretRef }) =>
        secretRef ? `${secretRef.name}${secretRef.optional ? '?' : ''}` : [],
      );
      assert.deepEqual(given, SECRETS_OF[name], name);
      const needed = given.filter((secret) => !secret.endsWith('?'));
      if (name === 'migrate') continue;
      const read = (values: Record<string, string>) =>
        readProcessConfiguration(name as ProcessName, { ...configuration, ...values });
      assert.equal(read(filled(needed)).channelInApi, false);
      for (const secret of needed) {
        const rest = filled(needed.filter((other) => other !== secret));
        const missing = new RegExp(Object.keys(filled([secret])).join('|'));
        assert.throws(() => read(rest), missing, `${name}, ${secret}`);
      }
    }
  });

  it('name each secret once, without a value', () => {
    const named = new Set(Object.values(SECRETS_OF).flatMap((all) => all.map((one) => one.replace('?', ''))));
    assert.deepEqual(secrets.map(({ metadata }) => metadata.name).toSorted(), [...named].toSorted());
    for (const { stringData } of secrets) assert.deepEqual(new Set(Object.values(stringData)), new Set(['']));
    const variables = secrets.flatMap(({ stringData }) => Object.keys(stringData));
    assert.equal(new Set(variables).size, variables.length);
    for (const variable of variables) assert.ok(!(variable in configuration), variable);
  });

  it('route the live channel to the gateways and all other requests to the API, over TLS', () => {
    const [ingress] = ofKind('Ingress');
    const host = new URL(configuration['BASE_URL'] ?? '').hostname;
    assert.deepEqual(ingress?.['spec'].tls[0].hosts, [host]);
    const rule = ingress?.['spec'].rules[0];
    assert.equal(rule.host, host);
    const ways = rule.http.paths.map(({ path, backend }: Manifest) => [path, backend.service.name]);
    assert.deepEqual(ways, [
      ['/ws', 'baton-gateway'],
      ['/', 'baton-api'],
    ]);
  });
});
