import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { useWorld } from '../support/world.ts';
import { startGate } from './conformance-gate.ts';

const PROGRAM = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const LIMIT_MS = 120_000;
const TOOL = 'needs a diagnostic tool of the suite';

/** The scenarios that apply, by version, each with the checks that must not succeed and why. */
const SCENARIOS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  '2025-06-18': {
    'server-initialize': {},
    ping: {},
    'tools-list': {},
    'resources-list': {},
    'prompts-list': {},
  },
  '2025-11-25': {
    'server-initialize': {},
    ping: {},
    'tools-list': {},
    'resources-list': {},
    'prompts-list': {},
    'server-session-lifecycle': {},
    'dns-rebinding-protection': {},
  },
  '2026-07-28': {
    'server-stateless': {
      'sep-2575-server-rejects-undeclared-capability': TOOL,
      'sep-2575-missing-capability-http-400': TOOL,
      'sep-2575-http-server-no-independent-requests-on-stream': TOOL,
      'sep-2575-server-no-log-without-loglevel': TOOL,
    },
    'tools-list': {},
    'resources-list': {},
    'prompts-list': {},
    'server-sse-multiple-streams': {},
    'sep-2164-resource-not-found': {},
    'dns-rebinding-protection': {},
    caching: {},
    'http-header-validation': {},
    'input-required-result-unsupported-methods': {},
    'tasks-lifecycle': {
      'sep-2663-tasks-get-status-failed': 'a run never ends with an error of the protocol',
    },
    'tasks-capability-negotiation': {},
    'tasks-wire-fields': {},
    'tasks-request-state-removal': {},
    'tasks-mrtr-input': {
      'tasks-mrtr-tasks-update-resumes':
        "the suite fills in the form of its own tool, not that of an agent's question",
      'tasks-mrtr-partial-fulfillment': 'a run has one open question at a time',
    },
    'tasks-request-headers': {
      'tasks-headers-tolerate-mcp-method-on-tools-call': "compares the text with that of the suite's tool",
    },
    'tasks-dispatch-and-envelope': {},
  },
};

/** Scenarios that do not apply, by their names or the beginnings of their names. */
const OTHERS: Readonly<Record<string, string>> = {
  'tools-call-': TOOL,
  'resources-read-': 'reads resources of the suite',
  'resources-templates-read': 'reads resources of the suite',
  'resources-subscribe': 'belongs to sessions of earlier versions; 2026-07-28 has subscriptions/listen',
  'resources-unsubscribe': 'belongs to sessions of earlier versions',
  'prompts-get-': 'gets prompts of the suite',
  'elicitation-': TOOL,
  'input-required-result-': TOOL,
  'json-schema-2020-12': TOOL,
  'http-custom-header-server-validation': 'no tool has parameters that are repeated in headers',
  'completion-complete': 'there are no completions',
  'logging-set-level': 'the server sends no log messages',
  'server-sse-polling': 'responses are not resumed; tasks outlive connections',
  'server-sse-multiple-streams': 'in 2025-11-25 for servers with sessions',
  'sep-2640-skills-': 'an extension that is not served',
  'tasks-status-notifications': 'not implemented in the suite',
  'tasks-required-task-error': 'no tool requires the extension',
  'tasks-mrtr-composition': TOOL,
};

type Check = { id: string; status: string; errorMessage?: string };

describe('the conformance suite of the Model Context Protocol', function () {
  this.timeout(LIMIT_MS);
  const world = useWorld();
  let gate: Awaited<ReturnType<typeof startGate>>;
  before('start the gate', async () => {
    gate = await startGate(world);
  });
  after('close the gate', () => gate?.close());

  for (const [version, scenarios] of Object.entries(SCENARIOS)) {
    for (const [scenario, expected] of Object.entries(scenarios)) {
      it(`passes ${scenario} in ${version}`, async () => {
        const checks = await run(gate.url, scenario, version);
        assert.ok(checks.length > 0);
        const failed = checks.filter(({ status }) => status === 'FAILURE');
        assert.deepEqual(
          failed.map(({ id }) => id).toSorted(),
          Object.keys(expected).toSorted(),
          JSON.stringify(failed, null, 2),
        );
      });
    }
  }

  it('has no other scenarios for servers', async () => {
    const listed = await output(['list', '--server']);
    const names = [...listed.matchAll(/^ +- ([\w/-]+) \[/gm)].map(([, name = '']) => name);
    const tested = new Set(Object.values(SCENARIOS).flatMap((scenarios) => Object.keys(scenarios)));
    const unknown = names.filter(
      (name) => !tested.has(name) && !Object.keys(OTHERS).some((beginning) => name.startsWith(beginning)),
    );
    assert.ok(names.includes('tasks-lifecycle'), listed);
    assert.deepEqual(unknown, []);
  });
});

async function run(url: string, scenario: string, version: string): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-conformance-'));
  try {
    // Extensions are in no version, so their scenarios are forced.
    const options = ['--scenario', scenario, '--spec-version', version, '--force', '-o', folder];
    await output(['server', '--url', url, ...options]);
    const files = readdirSync(folder, { recursive: true }).map(String);
    return files
      .filter((file) => file.endsWith('checks.json'))
      .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns what the suite prints. It also exits with 1 after a failed check. */
function output(args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { timeout: LIMIT_MS }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
