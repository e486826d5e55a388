import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { METRICS } from '../../src/telemetry/metrics.ts';
import { teamText } from '../agents/model-world.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { modelSettings, startModelServer, type ModelServer } from '../support/model-server.ts';
import { openPlain } from '../support/plain-channel.ts';
import { type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import {
  PROCESSES,
  samplesOf,
  startObserved,
  WEBHOOK,
  type ObservedService,
  type Sample,
} from './observed.ts';

const fileOf = (name: string) => readFileSync(inCheckout('deploy', 'observability', name), 'utf8');
const PAGE = readFileSync(inCheckout('docs', 'observability.md'), 'utf8');

type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
const { groups } = parse(fileOf('prometheus-rules.yaml')) as { groups: { name: string; rules: Rule[] }[] };
const RULES = groups.flatMap(({ rules }) => rules);

type Panel = {
  id: number;
  type: string;
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { refId: string; expr: string; legendFormat: string }[];
};
const DASHBOARD = JSON.parse(fileOf('grafana-dashboard.json')) as {
  uid: string;
  title: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};
/** Replaces the variables that Grafana replaces before it sends an expression to Prometheus. */
const withoutVariables = (expr: string) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.+');
const EXPRESSIONS = [
  ...RULES.map(({ alert, expr }) => ({ of: alert, expr })),
  ...DASHBOARD.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ of: title, expr: withoutVariables(expr) })),
  ),
];

/** The metrics in an expression, and the label values that it requires. */
type ParsedExpression = {
  of: string;
  error?: string;
  selectors: { name: string; equal: Record<string, string> }[];
};

const READER = `
import json, sys, promql_parser as p
def selectors(node, found):
    if isinstance(node, p.VectorSelector):
        equal = {m.name: m.value for m in node.matchers.matchers if m.op == p.MatchOp.Equal}
        found.append({"name": node.name, "equal": equal})
        return
    for name in ("lhs", "rhs", "expr", "vector_selector", "param"):
        part = getattr(node, name, None)
        if isinstance(part, p.Expr): selectors(part, found)
    for part in getattr(node, "args", None) or []: selectors(part, found)
answers = []
for one in json.load(open(sys.argv[1])):
    found = []
    try:
        selectors(p.parse(one["expr"]), found)
        answers.append({"of": one["of"], "selectors": found})
    except ValueError as error:
        answers.append({"of": one["of"], "selectors": [], "error": str(error)})
print(json.dumps(answers))
`;

/** Parses the expressions with the grammar of Prometheus. */
async function readExpressions(
  expressions: readonly { of: string; expr: string }[],
): Promise<ParsedExpression[]> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-promql-'));
  try {
    writeFileSync(join(folder, 'all.json'), JSON.stringify(expressions));
    const python = await pythonTool('python');
    const { stdout, stderr } = spawnSync(python, ['-c', READER, join(folder, 'all.json')], {
      encoding: 'utf8',
    });
    assert.ok(stdout !== '', stderr);
    return JSON.parse(stdout) as ParsedExpression[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the monitoring documents', function () {
  this.timeout(300_000);
  let asked: ParsedExpression[];
  let exposed: Map<string, Sample[]>;

  before(async () => {
    asked = await readExpressions(EXPRESSIONS);
    exposed = Map.groupBy(await everything(), ({ name }) => name);
  });

  it('contain only valid PromQL expressions', async () => {
    assert.ok(asked.length > 60, `${asked.length} expressions`);
    assert.deepEqual(
      asked.filter(({ error }) => error !== undefined),
      [],
    );
    assert.ok(asked.every(({ selectors }) => selectors.length > 0));
    const [broken] = await readExpressions([{ of: 'broken', expr: 'sum by (x (rate(y[5m]))' }]);
    assert.ok(broken?.error, 'an invalid expression is detected');
  });

  it('use only metrics and labels of a running service', () => {
    const missing = asked.flatMap(({ of, selectors }) =>
      selectors
        .filter(({ name }) => name !== 'up')
        .flatMap(({ name, equal }) => {
          const samples = exposed.get(name) ?? [];
          if (samples.length === 0) return [`${of}: ${name}`];
          const has = (label: string, value: string) =>
            label === 'job' || samples.some(({ labels }) => labels[label] === value);
          return Object.entries(equal)
            .filter(([label, value]) => !has(label, value))
            .map(([label, value]) => `${of}: ${name}{${label}="${value}"}`);
        }),
    );
    assert.deepEqual(missing, []);
  });

  it('list all metrics of METRICS with their labels, and no others', () => {
    const rows = [...PAGE.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| .+ \|$/gm)];
    const written = rows.map(([, name, type, labels]) => `${name} ${type} ${labels}`).toSorted();
    const known = Object.values(METRICS).map(({ name, type, labels }) => {
      return `${name} ${type} ${labels.map((label) => `\`${label}\``).join(', ')}`;
    });
    assert.deepEqual(written, known.toSorted());
  });

  it('list all metrics that a running service exposes, and no others', () => {
    const exposedNames = [...exposed.keys()]
      .filter((name) => !name.startsWith('temporal_'))
      .map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const known: string[] = Object.values(METRICS).map(({ name }) => name);
    assert.deepEqual([...new Set(exposedNames)].toSorted(), known.toSorted());
    for (const [, name = ''] of PAGE.matchAll(/`(temporal_\w+)`/g)) {
      const isThere = ['', '_count'].some((end) => exposed.has(`${name}${end}`));
      // This metric exists only after a request has failed.
      assert.ok(isThere || name === 'temporal_request_failure' || name === 'temporal_', name);
    }
  });

  it('contain a runbook entry for every alert', () => {
    const headings = [...PAGE.matchAll(/^### (Baton\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.toSorted(), RULES.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of RULES) {
      assert.equal(annotations.runbook_url, `docs/observability.md#${alert.toLowerCase()}`);
    }
  });

  /** Returns the metrics of four processes after a task and an event. */
  async function everything(): Promise<Sample[]> {
    await using opened = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));
    opened.defer(() => rmSync(folder, { recursive: true }));
    const models = await startModelServer(() => ({ text: 'Done.', tokens: [7, 3] }));
    opened.defer(() => models.close());
    const receiver = await startCallbackReceiver();
    opened.defer(() => receiver.close());
    const agents = join(folder, 'agents.yml');
    const price = 'prices:\n  openai-compatible/test: { input: 1, output: 2 }\n';
    writeFileSync(agents, teamText({ more: price }));
    const service = await startObserved({ AGENTS_FILE: agents, ...modelSettings(models) });
    opened.defer(() => service.close());
    return await workAndScrape(service, receiver, models);
  }

  async function workAndScrape(
    service: ObservedService,
    receiver: Receiver,
    models: ModelServer,
  ): Promise<Sample[]> {
    const { project_id } = service.installation;
    const token = (await (await service.send('POST', '/api/v1/tokens', {})).json()) as { token: string };
    const viewer = await openPlain(service.gatewayUrl, token.token);
    const callback_url = `${receiver.url}/callback`;
    const task = { title: 'A task', project_id, task_type: 'bug', callback_url };
    const made = (await (await service.send('POST', '/api/v1/tasks', task)).json()) as {
      execution_id: string;
    };
    await viewer.ask({ type: 'join', room: `workflow:${made.execution_id}`, after: 0 });
    await service.send('POST', '/api/v1/webhooks', { ...WEBHOOK, name: 'One', url: `${receiver.url}/hook` });
    const event = { event: 'issue.created', data: { issue: { id: '1' } } };
    assert.equal((await service.send('POST', '/api/v1/events', event)).status, 202);
    await receiver.receives(2, 60_000);
    assert.ok(models.asked.length > 0);
    await viewer.hears('event');
    // Both attempts are counted when they are recorded, shortly after they are received.
    const samples = await eventually('both attempts are counted', async () => {
      const texts = await Promise.all(
        PROCESSES.map(async (name) => await (await fetch(`${service.observedAt(name)}/metrics`)).text()),
      );
      const all = texts.flatMap(samplesOf);
      const counted = ['baton_callback_attempts_total', 'baton_delivery_attempts_total'].map((name) =>
        all.some((one) => one.name === name && one.value > 0),
      );
      return counted.every(Boolean) && all;
    });
    await viewer.close();
    return samples;
  }
});

describe('the alert rules', () => {
  it('have a unique name, a duration, a severity and a summary', () => {
    assert.ok(RULES.length >= 20);
    assert.equal(new Set(RULES.map(({ alert }) => alert)).size, RULES.length);
    assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length);
    for (const { alert, annotations, labels, ...rule } of RULES) {
      assert.match(alert, /^Baton[A-Z]\w+$/);
      assert.match(rule.for, /^\d+[smh]$/, alert);
      assert.match(labels.severity, /^(critical|warning|info)$/, alert);
      assert.ok(annotations.summary.length > 10, alert);
    }
  });
});

describe('the dashboard', () => {
  it('has panels with unique ids that do not overlap', () => {
    assert.deepEqual([DASHBOARD.uid, DASHBOARD.title], ['baton', 'Baton']);
    const ids = DASHBOARD.panels.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const taken = new Set<string>();
    for (const { title, type, gridPos, targets = [] } of DASHBOARD.panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(!taken.has(`${x} ${y}`), `${title} overlaps another panel`);
          taken.add(`${x} ${y}`);
        }
      }
      assert.equal(targets.length === 0, type === 'row', title);
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    }
  });

  it('filters every panel by the selected job', () => {
    assert.deepEqual(
      DASHBOARD.templating.list.map(({ name }) => name),
      ['datasource', 'job'],
    );
    for (const { title, targets = [] } of DASHBOARD.panels) {
      for (const { expr } of targets) assert.ok(expr.includes('job=~"$job"'), title);
    }
  });
});

describe('the example configurations', () => {
  it('name existing rule files, and all processes', () => {
    const scrape = parse(fileOf('prometheus.yaml')) as {
      rule_files: string[];
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
    };
    for (const name of scrape.rule_files) assert.ok(fileOf(name));
    const [config] = scrape.scrape_configs;
    assert.equal(config?.job_name, 'baton');
    assert.deepEqual(
      config?.static_configs[0]?.targets.map((target) => target.replace(':9464', '')),
      PROCESSES,
    );
  });

  it('use all declared receivers, processors and exporters for traces', () => {
    type Parts = Record<string, unknown>;
    const collector = parse(fileOf('otel-collector.yaml')) as {
      receivers: Parts;
      processors: Parts;
      exporters: Parts;
      service: { pipelines: { traces: Record<'receivers' | 'processors' | 'exporters', string[]> } };
    };
    const { traces } = collector.service.pipelines;
    for (const kind of ['receivers', 'processors', 'exporters'] as const) {
      assert.deepEqual(traces[kind], Object.keys(collector[kind]));
    }
  });
});
