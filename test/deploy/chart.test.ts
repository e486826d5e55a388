import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { environmentSchema, SECRET_VARIABLES } from '../../src/runtime/configuration.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { CHART, chartDigest, render, renderText } from './chart.ts';
import { CUSTOM_RESOURCES } from './custom-resources.ts';
import { helmProgram } from './helm-program.ts';
import { manifestsIn, RENDERED, selects, type Manifest } from './manifests.ts';

type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  $ref?: string;
  $defs?: Record<string, Schema>;
};

const readChart = (name: string) => readFileSync(join(CHART, name), 'utf8');
const defaults = parse(readChart('values.yaml')) as Record<string, unknown>;
const schema = JSON.parse(readChart('values.schema.json')) as Schema;
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, allowMatchingProperties: true });
addFormats.default(ajv);

const DIGEST = `sha256:${'a'.repeat(64)}`;

/** Values that enable every part of the chart. */
const EVERYTHING = {
  image: { digest: DIGEST },
  imagePullSecrets: [{ name: 'registry' }],
  configuration: { JWKS_URL: 'https://login.example.com/jwks' },
  agents: { catalogue: 'agents: {}\n' },
  externalSecrets: { enabled: true, store: { name: 'vault' }, remoteKeys: { models: 'baton/models' } },
  versions: { buildId: '2.0.0', choose: true, old: [{ buildId: '1.9.0', image: { tag: '1.9.0' } }] },
  pods: {
    extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/baton/ca/ca.pem' }],
    extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/baton/ca', readOnly: true }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { podAntiAffinity: {} },
    priorityClassName: 'high',
  },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/baton' } },
  api: { autoscaling: { enabled: false } },
  taskWorker: { autoscaling: { enabled: true } },
  deliveryWorker: { autoscaling: { enabled: true } },
  keda: { apiKey: true, triggerAuthentication: 'temporal' },
  ingress: { traefikLimits: { enabled: true, ipDepth: 1 } },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }] },
  networkPolicies: { internal: [{ ipBlock: { cidr: '10.20.0.0/16' } }] },
};

/** Wrong values, and what the message says. */
const REFUSED: readonly [string, object, RegExp][] = [
  ['an unknown name', { taskWorkers: {} }, /additional properties 'taskWorkers' not allowed/],
  ['an unknown variable', { configuration: { BASE_ULR: 'x' } }, /\/configuration.*'BASE_ULR' not allowed/],
  ['a wrong type', { api: { replicas: 'two' } }, /\/api\/replicas.*got string, want integer/],
  ['a digest without its algorithm', { image: { digest: 'abc' } }, /\/image\/digest.*does not match/],
  [
    'a secret in the configuration',
    { configuration: { DATABASE_URL: 'x' } },
    /DATABASE_URL is a secret.*secrets\.database/,
  ],
  [
    'a variable that may contain a secret',
    { configuration: { OUTBOUND_PROXY: 'x' } },
    /pods\.extraEnv.*from a Secret/,
  ],
  ['a variable that the chart sets', { configuration: { BATON_BUILD_ID: 'x' } }, /Set versions\.buildId/],
  [
    'two catalogues',
    { agents: { catalogue: 'x' }, configuration: { AGENTS_FILE: 'y' } },
    /either agents\.catalogue or/,
  ],
  [
    'a version that is new and old',
    { versions: { buildId: '2', old: [{ buildId: '2', image: { tag: '2' } }] } },
    /contains 2/,
  ],
  [
    'old versions alone',
    { versions: { old: [{ buildId: '2', image: { tag: '2' } }] } },
    /needs versions\.buildId/,
  ],
  [
    'an old version without its image',
    { versions: { buildId: '3', old: [{ buildId: '2' }] } },
    /missing property 'image'/,
  ],
  [
    'a name that is too long',
    { fullnameOverride: 'a'.repeat(20), versions: { buildId: 'b'.repeat(40) } },
    /more than 63 characters/,
  ],
  ['a route without a Gateway', { httpRoute: { enabled: true } }, /httpRoute\.parentRefs is missing/],
  ['External Secrets without a store', { externalSecrets: { enabled: true } }, /store\.name is missing/],
  [
    'more pods at least than at most',
    { gateway: { autoscaling: { minReplicas: 11 } } },
    /minReplicas is larger/,
  ],
];

describe('the values of the chart', () => {
  it('match their schema, which has no other names', () => {
    const judge = ajv.compile(schema);
    assert.ok(judge(defaults), JSON.stringify(judge.errors));
    assert.deepEqual(pathsOfSchema(schema).toSorted(), pathsOf(defaults).toSorted());
  });

  it('accept every variable of the configuration, and no unknown one', () => {
    const allowed = Object.keys(schema.properties?.['configuration']?.properties ?? {});
    assert.deepEqual(
      allowed.toSorted(),
      [...Object.keys(environmentSchema.shape), 'PGPASSWORD', 'TEMPORAL_ADDRESS'].toSorted(),
    );
  });

  it('contain no secrets: the chart names the place of each one', () => {
    const check = readChart('templates/_check.tpl');
    for (const name of SECRET_VARIABLES) assert.ok(check.includes(`"${name}"`), name);
  });

  it('belong to the current version', () => {
    const { version } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
    const chart = parse(readChart('Chart.yaml'));
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });
});

describe('the chart, rendered by Helm', function () {
  this.timeout(320_000);
  const found = helmProgram();
  const helm = found ?? '';
  before(function () {
    if (found === null) this.skip();
  });

  it('is deploy/kubernetes/baton.yaml with the default values', () => {
    const text = renderText(helm);
    if (process.env['RECORD_MANIFESTS'] === '1') writeFileSync(RENDERED, `${headOf(chartDigest())}${text}`);
    assert.deepEqual(manifestsIn(readFileSync(RENDERED, 'utf8')), manifestsIn(text));
  });

  it('passes the linter of Helm', () => {
    const { status, stdout, stderr } = spawnSync(helm, ['lint', '--strict', CHART], { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  it('is valid with everything enabled, and refers only to what exists', async () => {
    const all = render(helm, EVERYTHING, { name: 'acme', namespace: 'prod' });
    const custom = all.filter(({ kind }) => kind in CUSTOM_RESOURCES);
    assert.deepEqual(new Set(custom.map(({ kind }) => kind)), new Set(Object.keys(CUSTOM_RESOURCES)));
    for (const one of custom) {
      const judge = ajv.compile(CUSTOM_RESOURCES[one.kind] ?? {});
      assert.ok(judge(one), `${one.metadata.name}: ${JSON.stringify(judge.errors)}`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'baton-chart-'));
    try {
      const file = join(folder, 'all.yaml');
      writeFileSync(
        file,
        all
          .filter((one) => !custom.includes(one))
          .map((one) => JSON.stringify(one))
          .join('\n---\n'),
      );
      await promisify(execFile)(await pythonTool('kubernetes-validate'), ['--strict', '--quiet', file]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    for (const { metadata } of all) {
      assert.equal(metadata.namespace, 'prod');
      assert.match(metadata.name, /^acme-baton(-|$)/);
    }
    const names = (kind: string) =>
      all.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
    for (const { spec } of all.filter(({ kind }) => kind === 'Deployment')) {
      const { serviceAccountName, containers, volumes } = spec.template.spec;
      assert.deepEqual(names('ServiceAccount'), [serviceAccountName]);
      const maps = [...containers[0].envFrom, ...volumes].flatMap(
        ({ configMapRef, configMap }) => configMapRef ?? configMap ?? [],
      );
      for (const { name } of maps) assert.ok(['ca', ...names('ConfigMap')].includes(name), name);
    }
    const backends = [
      ...JSON.stringify(all).matchAll(/"service":\{"name":"([^"]+)"|"backendRefs":\[\{"name":"([^"]+)"/g),
    ];
    assert.ok(backends.length > 4);
    for (const [, first, second] of backends) assert.ok(names('Service').includes(first ?? second));
  });

  for (const [what, values, message] of REFUSED)
    it(`refuses ${what}`, () => assert.throws(() => render(helm, values), message));

  it('runs the workers of old versions beside those of the new one', () => {
    const all = render(helm, {
      image: { tag: '2.0.0' },
      versions: {
        buildId: '2.0.0',
        old: [
          { buildId: '1.9.0', image: { tag: '1.9.0' }, taskWorkers: 3 },
          { buildId: '1.8.0', image: { digest: DIGEST } },
        ],
      },
    });
    const deployments = all.filter(({ kind }) => kind === 'Deployment');
    const shown = deployments.map(({ metadata, spec }) => {
      const { image, env = [] } = spec.template.spec.containers[0];
      const build = env.find(({ name }: { name: string }) => name === 'BATON_BUILD_ID')?.value;
      return [metadata.name, spec.replicas, image.replace('registry.example.com/baton', ''), build];
    });
    assert.deepEqual(shown.toSorted(), [
      ['baton-api', undefined, ':2.0.0', '2.0.0'],
      ['baton-delivery-worker-1.8.0', 1, `@${DIGEST}`, '1.8.0'],
      ['baton-delivery-worker-1.9.0', 1, ':1.9.0', '1.9.0'],
      ['baton-delivery-worker-2.0.0', 2, ':2.0.0', '2.0.0'],
      ['baton-gateway', undefined, ':2.0.0', undefined],
      ['baton-task-worker-1.8.0', 1, `@${DIGEST}`, '1.8.0'],
      ['baton-task-worker-1.9.0', 3, ':1.9.0', '1.9.0'],
      ['baton-task-worker-2.0.0', 2, ':2.0.0', '2.0.0'],
    ]);
    for (const { metadata, spec } of deployments) {
      const selected = deployments.filter((other) =>
        selects(spec.selector.matchLabels, other['spec'].template.metadata.labels),
      );
      assert.deepEqual(
        selected.map((other) => other.metadata.name),
        [metadata.name],
      );
    }
  });

  it('scales workers by the backlog of their task queues, of their version only', () => {
    const autoscaling = { autoscaling: { enabled: true } };
    const values = {
      configuration: {
        BATON_TASK_QUEUE: 'acme',
        TEMPORAL_NAMESPACE: 'acme.a1b2c',
        TEMPORAL_ADDRESS: 'acme.tmprl.cloud:7233',
      },
      versions: { buildId: '2.0.0' },
      taskWorker: autoscaling,
      deliveryWorker: autoscaling,
      keda: { apiKey: true },
    };
    const all = render(helm, values);
    const queues = taskQueues('acme');
    const triggers = Object.fromEntries(
      all
        .filter(({ kind }) => kind === 'ScaledObject')
        .map(({ spec }) => [
          spec.scaleTargetRef.name,
          spec.triggers.map((trigger: Manifest) => trigger.metadata),
        ]),
    );
    const queuesOf = (name: string) =>
      triggers[name].map(({ taskQueue }: { taskQueue: string }) => taskQueue).toSorted();
    assert.deepEqual(Object.keys(triggers).toSorted(), [
      'baton-delivery-worker-2.0.0',
      'baton-task-worker-2.0.0',
    ]);
    assert.deepEqual(
      queuesOf('baton-task-worker-2.0.0'),
      [queues.runs, queues.agents, queues.callbacks].toSorted(),
    );
    assert.deepEqual(triggers['baton-delivery-worker-2.0.0'], [
      {
        endpoint: 'acme.tmprl.cloud:7233',
        namespace: 'acme.a1b2c',
        taskQueue: queues.deliveries,
        queueTypes: 'workflow,activity',
        targetQueueSize: '20',
        workerDeploymentName: 'acme',
        workerDeploymentBuildId: '2.0.0',
        apiKeyFromEnv: 'TEMPORAL_API_KEY',
      },
    ]);
    const scaled = all.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name in triggers);
    assert.deepEqual(
      scaled.map(({ spec }) => spec.replicas),
      [undefined, undefined],
    );
  });

  it('migrates before everything else, except where the Secret does not exist yet', () => {
    const hookOf = (values: object, upgrade: boolean) => {
      const job = render(helm, values, { upgrade }).find(({ kind }) => kind === 'Job');
      return job?.metadata.annotations?.['helm.sh/hook'];
    };
    const managed = { externalSecrets: { enabled: true, store: { name: 'vault' } } };
    assert.equal(hookOf({}, false), 'pre-install,pre-upgrade');
    assert.equal(hookOf(managed, false), undefined);
    assert.equal(hookOf(managed, true), 'pre-upgrade');
    const job = render(helm).find(({ kind }) => kind === 'Job');
    const text = JSON.stringify(job?.['spec']);
    assert.doesNotMatch(text, /configMap/);
    assert.match(text, /"serviceAccountName":"default"/);
  });

  it('reads a Secret with keys of other names, key by key', () => {
    const keys = { DATABASE_URL: 'uri' };
    const all = render(helm, { secrets: { database: { existingSecret: 'pg-app', keys } } });
    const containers = all
      .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
      .map(({ spec }) => spec.template.spec.containers[0]);
    assert.equal(containers.length, 5);
    for (const { env, envFrom = [] } of containers) {
      const valueFrom = { secretKeyRef: { name: 'pg-app', key: 'uri' } };
      assert.deepEqual(env, [{ name: 'DATABASE_URL', valueFrom }]);
      assert.doesNotMatch(JSON.stringify(envFrom), /database|pg-app/);
    }
  });

  it('adds the settings of one process to those of all', () => {
    const all = render(helm, {
      pods: {
        extraEnv: [{ name: 'A', value: '1' }],
        labels: { team: 'x' },
        podSecurityContext: { runAsUser: null },
      },
      taskWorker: {
        pods: {
          extraEnv: [{ name: 'B', value: '2' }],
          podSecurityContext: { runAsNonRoot: false, runAsUser: 0 },
          securityContext: { capabilities: { add: ['SETUID'] } },
        },
      },
    });
    const podOf = (name: string) =>
      all.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)?.['spec'].template;
    const variables = (name: string) =>
      podOf(name).spec.containers[0].env.map((one: { name: string }) => one.name);
    assert.deepEqual(variables('baton-task-worker'), ['A', 'B']);
    assert.deepEqual(variables('baton-api'), ['A']);
    assert.equal(podOf('baton-task-worker').metadata.labels.team, 'x');
    const { runAsNonRoot, runAsUser, fsGroup } = podOf('baton-task-worker').spec.securityContext;
    assert.deepEqual(
      { runAsNonRoot, runAsUser, fsGroup },
      { runAsNonRoot: false, runAsUser: 0, fsGroup: 1000 },
    );
    assert.equal(podOf('baton-api').spec.securityContext.runAsUser, undefined);
    assert.deepEqual(podOf('baton-task-worker').spec.containers[0].securityContext.capabilities, {
      drop: ['ALL'],
      add: ['SETUID'],
    });
  });

  it('prints whole numbers of the configuration as they are', () => {
    const all = render(helm, {
      configuration: { MOST_WAITING_EVENTS: 5_000_000, EAGER_START: false, SIGN_INS_PER_MINUTE: null },
    });
    const data = all.find(({ kind }) => kind === 'ConfigMap')?.['data'];
    assert.deepEqual(
      [data.MOST_WAITING_EVENTS, data.EAGER_START, data.SIGN_INS_PER_MINUTE],
      ['5000000', 'false', undefined],
    );
  });

  it('limits requests of an address with Traefik, sign-ins more strictly, by middlewares that exist', () => {
    const annotations = { 'cert-manager.io/cluster-issuer': 'acme', 'example.com/class': 'public' };
    const all = render(helm, { ingress: { traefikLimits: { enabled: true }, annotations } });
    const middlewares = all.filter(({ kind }) => kind === 'Middleware');
    const rates = Object.fromEntries(
      middlewares.map(({ metadata, spec }) => [metadata.name, spec.rateLimit?.average]),
    );
    assert.deepEqual(rates, {
      'baton-requests': 1_000,
      'baton-connections': undefined,
      'baton-sign-ins': 60,
    });
    const ingresses = all.filter(({ kind }) => kind === 'Ingress');
    assert.equal(ingresses.length, 2);
    for (const { metadata } of ingresses) {
      const used = metadata.annotations['traefik.ingress.kubernetes.io/router.middlewares'] as string;
      for (const one of used.split(','))
        assert.ok(
          Object.keys(rates).some((name) => one === `baton-${name}@kubernetescrd`),
          one,
        );
    }
    const signIns = ingresses.find(({ metadata }) => metadata.name === 'baton-sign-ins');
    const mine = signIns?.['spec'].rules[0];
    assert.equal(signIns?.metadata.annotations['example.com/class'], 'public');
    // Only one Ingress may request the certificate.
    const requesting = ingresses.filter(
      ({ metadata }) => 'cert-manager.io/cluster-issuer' in metadata.annotations,
    );
    assert.deepEqual(
      requesting.map(({ metadata }) => metadata.name),
      ['baton'],
    );
    const exact = ['/api/v1/session', '/api/v1/me/password', '/api/v1/invitations/accept'];
    assert.deepEqual(
      mine.http.paths.map(({ path }: { path: string }) => path),
      [...exact.flatMap((path) => [path, `${path}/`]), '/api/v1/openid'],
    );
  });

  it('lets a gateway reach the identity provider only if it needs its keys', () => {
    const policiesWith = (configuration: object) =>
      render(helm, { configuration }).filter(({ metadata }) => metadata.name === 'baton-identity-provider');
    assert.deepEqual(policiesWith({}), []);
    const [policy] = policiesWith({ JWKS_URL: 'https://login.example.com/jwks' });
    assert.deepEqual(policy?.['spec'].egress[0].ports, [{ port: 443 }]);
  });
});

describe('deploy/kubernetes/baton.yaml', () => {
  it('is rendered from the current chart', () => {
    assert.ok(
      readFileSync(RENDERED, 'utf8').includes(chartDigest()),
      'it is out of date: run `RECORD_MANIFESTS=1 npm test -- deploy/chart` with Helm',
    );
  });
});

function headOf(digest: string): string {
  return [
    '# Generated from deploy/chart with its default values, for Kustomize and for readers. Manual changes are lost.',
    `# SHA-256 of the chart: ${digest}`,
    '',
  ].join('\n');
}

/** Returns the paths of all values, also of those that contain others. A map without members is one value. */
function pathsOf(values: Record<string, unknown>, rules: Schema = schema, prefix = ''): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const inner = resolve(rules.properties?.[name] ?? {});
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap && isGroup(path, inner)
      ? pathsOf(value as Record<string, unknown>, inner, `${path}.`)
      : [path];
  });
}

function pathsOfSchema(rules: Schema, prefix = ''): string[] {
  return Object.entries(rules.properties ?? {}).flatMap(([name, rule]) => {
    const path = `${prefix}${name}`;
    const inner = resolve(rule);
    if (path === 'global') return [];
    return isGroup(path, inner) ? pathsOfSchema(inner, `${path}.`) : [path];
  });
}

/** Variables, resources and the `pods` of a process need not be in the file. */
function isGroup(path: string, rules: Schema): boolean {
  return rules.properties !== undefined && !/^configuration$|\.(pods|resources|timeouts)$/.test(path);
}

function resolve(rule: Schema): Schema {
  const name = rule.$ref?.replace('#/$defs/', '');
  return name === undefined ? rule : (schema.$defs?.[name] ?? {});
}
