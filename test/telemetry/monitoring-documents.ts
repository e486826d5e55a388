import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { inCheckout } from '../../dev/common/paths.ts';
import { pythonTool } from '../../dev/services/python-tools.ts';

/** Returns the text of a file in deploy/observability. */
export const fileOf = (name: string) => readFileSync(inCheckout('deploy', 'observability', name), 'utf8');
/** The page about observability. */
export const PAGE = readFileSync(inCheckout('docs', 'observability.md'), 'utf8');

type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
/** The alert rules by group. */
export const { groups: GROUPS } = parse(fileOf('prometheus-rules.yaml')) as {
  groups: { name: string; rules: Rule[] }[];
};
export const RULES = GROUPS.flatMap(({ rules }) => rules);

type Panel = {
  id: number;
  type: string;
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { refId: string; expr: string; legendFormat: string }[];
};
export const DASHBOARD = JSON.parse(fileOf('grafana-dashboard.json')) as {
  uid: string;
  title: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};
/** Replaces the variables that Grafana replaces before it sends an expression to Prometheus. */
const withoutVariables = (expr: string) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.+');
/** The expressions of all alerts and panels. `of` names the alert or panel. */
export const EXPRESSIONS = [
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
export async function readExpressions(
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
