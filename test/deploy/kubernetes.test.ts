import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { readProcessConfiguration, type ProcessName } from '../../src/runtime/process-configuration.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { manifestsOf, selects, yamlFilesOf, type Manifest } from './manifests.ts';
import { middlewareSchema } from './middleware-schema.ts';
import { scaledObjectSchema } from './scaled-object-schema.ts';

const inKubernetes = (...parts: string[]) => inCheckout('deploy', 'kubernetes', ...parts);
const baseFiles = yamlFilesOf(inKubernetes('base')).filter((path) => !path.endsWith('kustomization.yaml'));
const base = baseFiles.flatMap(manifestsOf);
const scaled = manifestsOf(inKubernetes('keda', 'scaled-objects.yaml'));
const secrets = manifestsOf(inKubernetes('secret.example.yaml'));
const traefik = manifestsOf(inKubernetes('traefik', 'limits.yaml'));
const [kustomization] = manifestsOf(inKubernetes('base', 'kustomization.yaml'));
const [overlay] = manifestsOf(inKubernetes('keda', 'kustomization.yaml'));

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

const ofKind = (kind: string, among = base) => among.filter((one) => one.kind === kind);
const names = (manifests: Manifest[]) => manifests.map(({ metadata }) => metadata.name as string).toSorted();
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
  it('match the Kubernetes schemas strictly', async function () {
    this.timeout(320_000);
    const tool = await pythonTool('kubernetes-validate');
    const files = [...baseFiles, inKubernetes('secret.example.yaml')];
    await promisify(execFile)(tool, ['--strict', '--quiet', ...files]);
    const folder = mkdtempSync(join(tmpdir(), 'baton-manifests-'));
    try {
      const text = readFileSync(inKubernetes('base', 'api.yaml'), 'utf8');
      writeFileSync(join(folder, 'api.yaml'), text.replace('readinessProbe', 'readynessProbe'));
      const broken = spawnSync(tool, ['--strict', '--quiet', join(folder, 'api.yaml')], { encoding: 'utf8' });
      assert.equal(broken.status, 1);
      assert.match(`${broken.stdout}${broken.stderr}`, /readynessProbe/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are all listed in kustomization.yaml, with the current image version', () => {
    const listed = kustomization?.['resources'] as string[];
    const there = baseFiles.map((path) => basename(path));
    assert.deepEqual(listed.toSorted(), there.toSorted());
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
    assert.deepEqual(kustomization?.['images'], [
      { name: 'baton', newName: 'registry.example.com/baton', newTag: version },
    ]);
    for (const { metadata } of [...base, ...scaled, ...secrets, ...traefik])
      assert.equal(metadata.namespace ?? metadata.name, 'baton');
  });

  it('start each process of the image by its name', () => {
    assert.deepEqual(names(deployments), [...SERVING, ...WORKING].toSorted());
    for (const one of [...deployments, ...ofKind('Job')]) {
      const { image, args, command } = containerOf(one);
      assert.deepEqual(
        { image, args, command },
        { image: 'baton', args: [one.metadata.name], command: undefined },
      );
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
      assert.equal(before > 0, SERVING.includes(one.metadata.name));
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
      const asked = SERVING.includes(one.metadata.name) ? 'http' : 'metrics';
      assert.equal(port('http')?.containerPort, asked === 'http' ? 3000 : undefined);
      assert.deepEqual(startupProbe.httpGet, { path: '/health/live', port: asked });
      assert.deepEqual(livenessProbe.httpGet, { path: '/health/live', port: asked });
      assert.deepEqual(readinessProbe.httpGet, { path: '/health/ready', port: asked });
    }
  });

  it('select the intended pods by label', () => {
    for (const one of deployments) {
      const { name } = one.metadata;
      const { labels } = podOf(one).metadata;
      assert.ok(selects(one['spec'].selector.matchLabels, labels));
      for (const spread of podOf(one).spec.topologySpreadConstraints)
        assert.ok(selects(spread.labelSelector.matchLabels, labels));
      const chosen = deployments.filter((other) =>
        selects(one['spec'].selector.matchLabels, podOf(other).metadata.labels),
      );
      assert.deepEqual(names(chosen), [name]);
      const budget = ofKind('PodDisruptionBudget').find(({ metadata }) => metadata.name === name);
      assert.ok(selects(budget?.['spec'].selector.matchLabels, labels));
    }
    assert.deepEqual(names(ofKind('Service')), SERVING);
    for (const service of ofKind('Service')) {
      const target = deployments.find(({ metadata }) => metadata.name === service.metadata.name);
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
      assert.equal(one['spec'].replicas, SERVING.includes(one.metadata.name) ? undefined : 2);
    const patch = overlay?.['patches'][0] as { target: { kind: string; name: string }; patch: string };
    const patched = deployments.filter(({ metadata }) =>
      new RegExp(`^${patch.target.name}$`).test(metadata.name),
    );
    assert.deepEqual(names(patched), WORKING);
    assert.match(patch.patch, /op: remove\n\s*path: \/spec\/replicas/);
  });

  it('scale workers by the backlog of their task queues', () => {
    const judge = new Ajv({ allErrors: true }).compile(scaledObjectSchema);
    for (const one of scaled) assert.ok(judge(one), JSON.stringify(judge.errors));
    assert.deepEqual(names(scaled), WORKING);
    const queues = taskQueues(configuration['BATON_TASK_QUEUE'] ?? '');
    const expected = {
      'task-worker': [queues.runs, queues.agents, queues.callbacks],
      'delivery-worker': [queues.deliveries],
    };
    const found = Object.fromEntries(
      scaled.map(({ metadata, spec }) => [
        metadata.name,
        spec.triggers.map((trigger: Manifest) => trigger.metadata.taskQueue),
      ]),
    );
    assert.deepEqual(found, expected);
    for (const { metadata, spec } of scaled) {
      assert.equal(spec.scaleTargetRef.name, metadata.name);
      for (const trigger of spec.triggers)
        assert.equal(trigger.metadata.namespace, configuration['TEMPORAL_NAMESPACE']);
    }
  });

  it('give each process its Secrets and no others, and a valid configuration', () => {
    for (const one of [...deployments, ...ofKind('Job')]) {
      const { name } = one.metadata;
      const from = containerOf(one).envFrom as Record<string, { name: string; optional?: boolean }>[];
      const [first, ...others] = from;
      assert.deepEqual(first, { configMapRef: { name: 'baton' } });
      const given = others.map(({ secretRef }) => `${secretRef?.name}${secretRef?.optional ? '?' : ''}`);
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
    assert.deepEqual(names(secrets), [...named].toSorted());
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
      ['/ws', 'gateway'],
      ['/', 'api'],
    ]);
  });

  it('limit requests of an address with Traefik, sign-ins more strictly, by middlewares that exist', () => {
    const judge = new Ajv({ allErrors: true }).compile(middlewareSchema);
    const middlewares = ofKind('Middleware', traefik);
    for (const one of middlewares) assert.ok(judge(one), JSON.stringify(judge.errors));
    const rates = Object.fromEntries(
      middlewares.map(({ metadata, spec }) => [metadata.name, spec.rateLimit?.average]),
    );
    assert.deepEqual(rates, { requests: 1_000, connections: undefined, 'sign-ins': 60 });
    const [component] = manifestsOf(inKubernetes('traefik', 'kustomization.yaml'));
    const [{ target, patch }] = (component as Manifest)['patches'];
    assert.deepEqual(target, { kind: 'Ingress', name: 'baton' });
    const [signIns] = ofKind('Ingress', traefik);
    for (const { metadata } of [parse(patch) as Manifest, signIns as Manifest]) {
      const used = metadata.annotations['traefik.ingress.kubernetes.io/router.middlewares'] as string;
      for (const one of used.split(','))
        assert.ok(
          names(middlewares).some((name) => one === `baton-${name}@kubernetescrd`),
          one,
        );
    }
    const [ingress] = ofKind('Ingress');
    const [mine] = (signIns as Manifest)['spec'].rules;
    assert.equal(mine.host, ingress?.['spec'].rules[0].host);
    assert.deepEqual(
      mine.http.paths.map(({ path }: { path: string }) => path),
      [
        ...['/api/v1/session', '/api/v1/me/password', '/api/v1/invitations/accept'].flatMap((path) => [
          path,
          `${path}/`,
        ]),
        '/api/v1/openid',
      ],
    );
  });
});
