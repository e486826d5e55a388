/* The dependency rules. Each folder of `src/` lists the folders that it may import. All others are forbidden. */

/** The folders whose code each folder of `src/` may use, and those of which it may use only types. */
const LAYOUT = {
  domain: { uses: [] },
  telemetry: { uses: ['domain'] },
  security: { uses: ['domain'] },
  outbound: { uses: ['domain'] },
  mail: { uses: ['domain'] },
  agents: { uses: ['domain'] },
  temporal: { uses: ['domain'] },
  database: { uses: ['domain'] },
  activities: { uses: ['domain', 'database', 'agents', 'outbound', 'mail', 'temporal'] },
  workflows: { uses: ['domain', 'temporal'], types: ['activities'] },
  reconciler: { uses: ['domain', 'database', 'temporal'] },
  runtime: {
    uses: [
      'domain',
      'telemetry',
      'security',
      'outbound',
      'mail',
      'agents',
      'temporal',
      'database',
      'activities',
      'workflows',
      'reconciler',
    ],
  },
  gateway: { uses: ['domain', 'database', 'security', 'temporal'] },
  api: {
    uses: ['domain', 'telemetry', 'security', 'outbound', 'mail', 'agents', 'temporal', 'database'],
  },
};

/** Folders whose parts are in layers, from low to high: a part may use its own layer and those before it. */
const LAYERS = {
  'src/domain': [['common'], ['people', 'tasks', 'webhooks'], ['agents'], ['channel']],
  'src/database': [['common', 'migrations'], ['people', 'agents'], ['tasks'], ['webhooks']],
  'src/api': [
    ['http'],
    // Resources.
    'account agents audit-log codec deliveries docs event-types events health keys members notifications projects source-addresses tasks web'.split(
      ' ',
    ),
    ['a2a', 'invitations', 'listeners', 'mcp', 'webhooks'],
    // The types in `dependencies.ts` name what resources define; everything else at the top composes them.
    ['app\\.ts', 'server\\.ts'],
  ],
  web: [['api', 'format'], ['components'], ['forms', 'live', 'routing'], ['shell'], ['pages'], ['app']],
  dev: [['common'], ['services', 'types'], ['launcher'], ['checks', 'docs', 'tests'], ['mutation', 'walk']],
};

/** Composition roots put everything together, so they may import anything. */
const ROOTS = '^src/(api|gateway)/server\\.ts$';

function layerRulesOf([folder, layers]) {
  return layers.slice(0, -1).map((parts, index) => ({
    name: `layers-of-${folder.replaceAll('/', '-')}`,
    comment: `${folder}/{${parts}} is below {${layers.slice(index + 1).flat()}}`,
    severity: 'error',
    from: { path: `^${folder}/(${parts.join('|')})(/|$)` },
    to: {
      path: `^${folder}/(${layers
        .slice(index + 1)
        .flat()
        .join('|')})/`,
    },
  }));
}

function rulesOf([folder, { uses, types = [] }]) {
  const from = { path: `^src/${folder}/`, pathNot: ROOTS };
  const mine = [folder, ...uses].join('|');
  return [
    {
      name: `${folder}-imports`,
      comment: `src/${folder} may import ${uses.join(', ') || 'nothing of ours'}${types.length ? `, and types of ${types.join(', ')}` : ''}`,
      severity: 'error',
      from,
      to: {
        path: '^(src|workers|cli|dev|bench|faults|simulation|test|web)/',
        pathNot: `^src/(${[mine, ...types].join('|')})/`,
      },
    },
    ...types.map((other) => ({
      name: `${folder}-types-of-${other}`,
      comment: `src/${folder} may import types of src/${other}, never its code`,
      severity: 'error',
      from,
      to: { path: `^src/${other}/`, dependencyTypesNot: ['type-only'] },
    })),
  ];
}

module.exports = {
  forbidden: [
    ...Object.entries(LAYOUT).flatMap(rulesOf),
    ...Object.entries(LAYERS).flatMap(layerRulesOf),
    {
      name: 'domain-is-pure',
      comment:
        'src/domain has no I/O and no clock: it may import no Node modules, and only zod of the libraries',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: '/node_modules/zod/|^node_modules/zod/' },
    },
    {
      name: 'workflow-code-is-deterministic',
      comment: "code in Temporal's sandbox cannot import Node modules",
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'screens-use-the-vocabulary',
      comment:
        'web runs in browsers: it may use only src/domain of the service, which is pure, and the types generated from the API',
      severity: 'error',
      from: { path: '^web/', pathNot: '^web/(vite\\.config|component-styles)\\.ts$' },
      to: { path: '^(src|workers|cli|dev|bench|faults|simulation|test)/', pathNot: '^src/domain/' },
    },
    {
      name: 'screens-use-nothing-of-node',
      severity: 'error',
      from: { path: '^web/', pathNot: '^web/(vite\\.config|component-styles)\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'client-package-stands-alone',
      comment:
        'it is installed separately, in Node and in browsers: it may import nothing outside its folder',
      severity: 'error',
      from: { path: '^clients/' },
      to: { pathNot: '^clients/' },
    },
    {
      name: 'service-needs-no-tools',
      comment: 'the service must run without the folders and packages that only development needs',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^(dev|bench|faults|simulation|test|cli|clients|deploy|examples|web)/' },
    },
    {
      name: 'service-needs-no-development-packages',
      severity: 'error',
      from: { path: '^(src|workers|cli)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'development-needs-no-benchmarks',
      comment:
        'bench/, faults/ and simulation/ have their own entry points. They may use dev/, and dev/ may not use them',
      severity: 'error',
      from: { path: '^dev/' },
      to: { path: '^(bench|faults|simulation|test)/' },
    },
    {
      name: 'no-circles',
      comment: 'merge two files that import each other, or move the common part to a third one',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      // The build of the screens creates these modules.
      to: { couldNotResolve: true, pathNot: '^virtual:' },
    },
    {
      name: 'packages-are-declared',
      comment:
        'package.json must list every imported package; the package.json of dev/mutation lists only its own',
      severity: 'error',
      from: { pathNot: '^dev/mutation/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(web/(dist|\\.generated|\\.building-)|clients/typescript/dist)' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // The packages of web/ and dev/ are listed there, those of the service at the top.
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
