import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { inCheckout } from '../../dev/common/paths.ts';

/** The security scheme and the credential of the requests. */
export type Caller = { scheme: 'apiKey' | 'session'; credential: string };

export type Fuzzing = {
  /** The URL of the service, which also serves the OpenAPI document. */
  url: string;
  caller: Caller;
  /** The ids of the tested operations; all by default. */
  only?: readonly string[];
  /** The ids of operations that are not tested. */
  without?: readonly string[];
  /** Existing ids, which most requests with this parameter use. Keys are `operationId path.name`. */
  known?: Readonly<Record<string, readonly string[]>>;
  phases: readonly ('examples' | 'coverage' | 'fuzzing' | 'stateful')[];
  /** The ids of operations that the phase `coverage` leaves out. */
  notCovered?: readonly string[];
  /** Requests for each operation and phase. */
  examples: number;
  seed: number;
  /** The time limit, after which the run fails. */
  minutes: number;
  /** The host of all URLs in requests, so that nothing leaves the machine: `http://127.0.0.1:<port>`. */
  sendTo: string;
};

/** The result, and the output of the tool. `repeated`: the ids of requests that were repeated after a 503 `unavailable`. */
export type Found = { passed: boolean; output: string; repeated: readonly string[] };

/** The checks of every response. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'ignored_auth',
  'unsupported_method',
  'allow_header_conformance',
  'use_after_free',
];
/** Operations whose responses may contradict a check. The log of a deleted webhook stays readable. */
const EXCEPTIONS = [{ operation: 'listDeliveries', check: 'use_after_free' }];
/** The probability that a parameter is an existing id. */
const KNOWN_OFTEN = 0.7;
const LONGEST_REQUEST_S = 65;

/** Tests the operations of the OpenAPI document with Schemathesis, and checks every response. */
export async function fuzz(fuzzing: Fuzzing): Promise<Found> {
  const program = await pythonTool('schemathesis');
  const folder = mkdtempSync(join(tmpdir(), 'baton-fuzz-'));
  const settings = join(folder, 'schemathesis.toml');
  writeFileSync(settings, settingsOf(fuzzing));
  const repeated = join(folder, 'repeated.txt');
  writeFileSync(repeated, '');
  try {
    const result = await run(program, ['--config-file', settings, 'run', ...argumentsOf(fuzzing)], {
      cwd: folder,
      minutes: fuzzing.minutes,
      environment: { BATON_FUZZ_SEND_TO: fuzzing.sendTo, BATON_FUZZ_REPEATED: repeated },
    });
    return { ...result, repeated: readFileSync(repeated, 'utf8').split('\n').filter(Boolean) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function argumentsOf({ url, only = [], without = [], phases, examples, seed }: Fuzzing): string[] {
  return [
    `${url}/api/v1/openapi.json`,
    `--url=${url}`,
    `--phases=${phases.join(',')}`,
    `--max-examples=${examples}`,
    `--seed=${seed}`,
    '--workers=1',
    '--no-color',
    '--continue-on-failure',
    '--no-shrink',
    '--generation-database=none',
    '--suppress-health-check=all',
    `--request-timeout=${LONGEST_REQUEST_S}`,
    '--warnings=off',
    ...only.map((id) => `--include-operation-id=${id}`),
    ...without.map((id) => `--exclude-operation-id=${id}`),
  ];
}

/**
 * Returns the settings without a command line option, and the credential, which other processes must not see. Checks on the
 * command line would have no exceptions.
 */
function settingsOf({ url, caller, known = {}, notCovered = [] }: Fuzzing): string {
  const hooks = inCheckout('test', 'fuzz', 'hooks.py');
  const lines = [`hooks = ${quoted(hooks)}`, `headers = { Origin = ${quoted(url)} }`];
  const bindings = Object.entries(known).map(([which, values], index) => {
    const [operation = '', parameter = ''] = which.split(' ');
    return { operation, parameter, values, dictionary: `known-${index}` };
  });
  lines.push('[auth.openapi]', `${caller.scheme} = { api_key = ${quoted(caller.credential)} }`);
  lines.push('[checks]', 'enabled = false');
  for (const check of CHECKS) lines.push(`[checks.${check}]`, 'enabled = true');
  for (const { operation, check } of EXCEPTIONS) {
    const checks = `checks = { ${check} = { enabled = false } }`;
    lines.push('[[operations]]', `include-operation-id = ${quoted(operation)}`, checks);
  }
  for (const id of notCovered) {
    const phases = 'phases = { coverage = { enabled = false } }';
    lines.push('[[operations]]', `include-operation-id = ${quoted(id)}`, phases);
  }
  for (const { dictionary, values } of bindings) {
    lines.push(`[dictionaries.${dictionary}]`, `values = [${values.map(quoted).join(', ')}]`);
  }
  for (const { operation, parameter, dictionary } of bindings) {
    const binding = `{ dictionary = ${quoted(dictionary)}, probability = ${KNOWN_OFTEN} }`;
    lines.push(
      '[[operations]]',
      `include-operation-id = ${quoted(operation)}`,
      `parameters = { ${quoted(parameter)} = ${binding} }`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Returns a string in TOML, which accepts the notation of JSON. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function run(
  program: string,
  args: string[],
  { cwd, minutes, environment }: { cwd: string; minutes: number; environment: Record<string, string> },
): Promise<Omit<Found, 'repeated'>> {
  const options = {
    cwd,
    env: { ...process.env, ...environment },
    timeout: minutes * 60_000,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ passed: error === null, output: `${stdout}${stderr}` });
    });
  });
}
