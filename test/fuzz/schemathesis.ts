import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonTool } from '../../dev/services/python-tools.ts';
import { inCheckout } from '../../dev/common/paths.ts';

/** Who asks: by which of the document's security schemes, with which credential. */
export type Asker = { scheme: 'apiKey' | 'session'; credential: string };

export type Fuzzing = {
  /** Where the service is; its OpenAPI document is taken from there. */
  url: string;
  asker: Asker;
  /** The only operations that are tried, by their ids; all where not given. */
  only?: readonly string[];
  /** Operations that are left out. */
  without?: readonly string[];
  /** Things that exist: most requests with this parameter name one of them. Keys are `operationId path.name`. */
  known?: Readonly<Record<string, readonly string[]>>;
  phases: readonly ('examples' | 'coverage' | 'fuzzing' | 'stateful')[];
  /** Requests for each operation and phase. */
  examples: number;
  seed: number;
  /** Stays within this many minutes, or has failed. */
  minutes: number;
  /** Where addresses to send to lead, so that nothing leaves the machine: `http://127.0.0.1:<port>`. */
  sendTo: string;
};

/** What came of it: `passed`, and what the tool wrote. */
export type Found = { passed: boolean; output: string };

/** What every answer is held to. */
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
/** How often a parameter names something that exists. */
const KNOWN_OFTEN = 0.7;
const LONGEST_REQUEST_S = 65;

/** Lets Schemathesis ask the service everything that its OpenAPI document speaks of, and hold each answer against it. */
export async function fuzz(fuzzing: Fuzzing): Promise<Found> {
  const program = await pythonTool('schemathesis');
  const folder = mkdtempSync(join(tmpdir(), 'baton-fuzz-'));
  const settings = join(folder, 'schemathesis.toml');
  writeFileSync(settings, settingsOf(fuzzing));
  try {
    return await run(program, ['--config-file', settings, 'run', ...wordsOf(fuzzing)], {
      cwd: folder,
      minutes: fuzzing.minutes,
      environment: { BATON_FUZZ_SEND_TO: fuzzing.sendTo },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function wordsOf({ url, only = [], without = [], phases, examples, seed }: Fuzzing): string[] {
  return [
    `${url}/api/v1/openapi.json`,
    `--url=${url}`,
    `--checks=${CHECKS.join(',')}`,
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

/** The settings that have no word on the command line; no secret is told to other processes. */
function settingsOf({ url, asker, known = {} }: Fuzzing): string {
  const hooks = inCheckout('test', 'fuzz', 'hooks.py');
  const lines = [`hooks = ${quoted(hooks)}`, `headers = { Origin = ${quoted(url)} }`];
  const bindings = Object.entries(known).map(([which, values], index) => {
    const [operation = '', parameter = ''] = which.split(' ');
    return { operation, parameter, values, dictionary: `known-${index}` };
  });
  lines.push('[auth.openapi]', `${asker.scheme} = { api_key = ${quoted(asker.credential)} }`);
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

/** A string as TOML writes it; JSON's form is one that it knows. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function run(
  program: string,
  words: string[],
  { cwd, minutes, environment }: { cwd: string; minutes: number; environment: Record<string, string> },
): Promise<Found> {
  const options = {
    cwd,
    env: { ...process.env, ...environment },
    timeout: minutes * 60_000,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    execFile(program, words, options, (error, stdout, stderr) => {
      resolve({ passed: error === null, output: `${stdout}${stderr}` });
    });
  });
}
