import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { MAX_COUNTED } from '../../src/database/common/metrics.ts';
import { METRICS } from '../../src/telemetry/metrics.ts';
import {
  DASHBOARD,
  EXPRESSIONS,
  fileOf,
  GROUPS,
  PAGE,
  readExpressions,
  RULES,
} from './monitoring-documents.ts';
import { PROCESSES } from './observed.ts';

/** test/telemetry/metrics.test.ts compares them with the metrics of a running service. */
describe('the monitoring documents', function () {
  this.timeout(300_000);

  it('contain only valid PromQL expressions', async () => {
    const asked = await readExpressions(EXPRESSIONS);
    assert.ok(asked.length > 60, `${asked.length} expressions`);
    assert.deepEqual(
      asked.filter(({ error }) => error !== undefined),
      [],
    );
    assert.ok(asked.every(({ selectors }) => selectors.length > 0));
    const [broken] = await readExpressions([{ of: 'broken', expr: 'sum by (x (rate(y[5m]))' }]);
    assert.ok(broken?.error, 'an invalid expression is detected');
  });

  it('list all metrics of METRICS with their labels, and no others', () => {
    const rows = [...PAGE.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| .+ \|$/gm)];
    const written = rows.map(([, name, type, labels]) => `${name} ${type} ${labels}`).toSorted();
    const known = Object.values(METRICS).map(({ name, type, labels }) => {
      return `${name} ${type} ${labels.map((label) => `\`${label}\``).join(', ')}`;
    });
    assert.deepEqual(written, known.toSorted());
  });

  it('contain a runbook entry for every alert', () => {
    const headings = [...PAGE.matchAll(/^### (Baton\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.toSorted(), RULES.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of RULES) {
      assert.equal(annotations.runbook_url, `docs/observability.md#${alert.toLowerCase()}`);
    }
  });
});

describe('the alert rules', () => {
  it('can fire for the deliveries of one webhook, of which a limited number is counted', () => {
    const limits = RULES.flatMap(({ expr }) =>
      [...expr.matchAll(/baton_deliveries_waiting\{[^}]*\}\) > (\d+)/g)].map(([, limit]) => Number(limit)),
    );
    assert.equal(limits.length, 1);
    for (const limit of limits) assert.ok(limit < MAX_COUNTED, String(limit));
  });

  it('have a unique name, a duration, a severity and a summary', () => {
    assert.ok(RULES.length >= 20);
    assert.equal(new Set(RULES.map(({ alert }) => alert)).size, RULES.length);
    assert.equal(new Set(GROUPS.map(({ name }) => name)).size, GROUPS.length);
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
