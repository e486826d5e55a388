import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../../dev/common/processes.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { findProgram } from '../../src/agents/find-program.ts';
import { eventually } from '../support/eventually.ts';
import {
  modelSettings,
  saidIn,
  startModelServer,
  turnOf,
  type ModelServer,
} from '../support/model-server.ts';
import type { Report } from '../support/prying-program.ts';
import { startRuns, type Runs } from '../support/runs.ts';
import { settingsOn } from '../support/settings.ts';

const PROGRAM = join(import.meta.dirname, '../support/prying-program.ts');
const CATALOGUE = `
servers:
  pry: { command: ${process.execPath}, args: [${PROGRAM}, mcp] }
agents:
  prog: { instructions: Look., command: [${process.execPath}, ${PROGRAM}] }
  ada: { instructions: Look., tools: [pry/look] }
defaults: { run_time_limit: 2 min, step_time_limit: 1 min, retry: { maximum_attempts: 1, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: one, agent: ada }]
  bug: [{ step: one, agent: prog }]
  spec: [{ step: one, agent: prog }]
  chore: [{ step: one, agent: prog }]
`;

const isRoot = process.getuid?.() === 0;
/** A user that no process of another test has. */
const SOMEBODY = 60_701;
const PROGRAMS_UID = 60_606;

describe('a program of an agent and an MCP server', function () {
  this.timeout(180_000);
  let server: ModelServer;
  let runs: Runs;
  let folder: string;
  let settings: Record<string, string>;
  let worker: RunningProcess | null = null;

  before(async () => {
    server = await startModelServer((asked) =>
      turnOf(asked) === 1 ? { calls: [{ name: 'pry__look', arguments: {} }] } : { text: 'Done.' },
    );
    folder = mkdtempSync(join(tmpdir(), 'baton-prying-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'bin'));
    // The programs that start processes of tests, without `unshare`.
    const setpriv = findProgram('setpriv', process.env['PATH'] ?? '');
    if (setpriv !== null) symlinkSync(setpriv, join(folder, 'bin', 'setpriv'));
    const agentsFile = join(folder, 'agents.yml');
    writeFileSync(agentsFile, CATALOGUE);
    const given = {
      ...modelSettings(server),
      BATON_TASK_QUEUE: `prying-${randomBytes(4).toString('hex')}`,
      BATON_SEALING_KEYS: `test:${randomBytes(32).toString('base64')}`,
      AGENTS_FILE: agentsFile,
    };
    runs = await startRuns({ environment: given });
    settings = {
      ...settingsOn(runs.configuration.databaseUrl),
      ...given,
      OUTBOUND_CA_FILE: '',
      HOME: folder,
    };
  });
  afterEach(async () => {
    await worker?.stop();
    worker = null;
  });
  after(async () => {
    await runs.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a task worker as this user, with one run for the program and one for the server, and returns its log. */
  async function reportsOf(
    name: string,
    { uid = process.getuid?.() ?? -1, path = process.env['PATH'] ?? '', ipc = false, variables = {} },
  ): Promise<{ reports: Report[]; log: string; leftovers: RunningProcess }> {
    const logFile = join(folder, `${name}.log`);
    let reports: Report[] = [];
    await runs.restartWorker(async () => {
      const own = await startProcess({
        command: process.execPath,
        args: [inCheckout('workers', 'task-worker.ts')],
        logFile,
        env: { ...settings, PATH: path, ...variables },
        as: isRoot ? { uid, gid: uid } : undefined,
        ipc,
      });
      worker = own;
      await eventually('it is ready', () => /"ready"/.test(readFileSync(logFile, 'utf8')), 60_000);
      const ids = [await runs.submit({ taskType: 'bug' }), await runs.submit({ taskType: 'feature' })];
      const [program] = await Promise.all(ids.map((id) => runs.reaches(id, 'completed', 60_000)));
      const toolText = saidIn(server.asked.at(-1) ?? assert.fail('nobody asked'));
      reports = [program?.steps[0]?.summary ?? '', toolText].map(reportIn);
      await own.stop();
    });
    assert.ok(worker);
    return { reports, log: readFileSync(logFile, 'utf8'), leftovers: worker };
  }

  it('run as another user and find no secret, if the worker runs as root', async function () {
    if (!isRoot) this.skip();
    const { reports, log } = await reportsOf('root', {});
    for (const report of reports) {
      const { home, ...rest } = report;
      assert.deepEqual(rest, { uid: PROGRAMS_UID, gid: PROGRAMS_UID, groups: [PROGRAMS_UID], found: [] });
      assert.match(home, /baton-programs-60606/);
    }
    assert.match(log, /programs of agents run as user 60606: they cannot read/);
  });

  it('run as the configured user', async function () {
    if (!isRoot) this.skip();
    const variables = { AGENT_PROGRAMS_UID: '60702', AGENT_PROGRAMS_GID: '60703' };
    const { reports } = await reportsOf('configured', { variables });
    for (const { uid, gid, found } of reports) assert.deepEqual([uid, gid, found], [60_702, 60_703, []]);
  });

  it('find no secret if the worker does not run as root', async () => {
    const { reports, log } = await reportsOf('namespaces', { uid: SOMEBODY });
    for (const { found } of reports) assert.deepEqual(found, []);
    assert.match(log, /they cannot read the environment and the memory of this process/);
  });

  it('find no secret if the worker does not run as root and there are no namespaces', async () => {
    const { reports, log } = await reportsOf('hidden', { uid: SOMEBODY, path: join(folder, 'bin') });
    for (const { found } of reports) assert.deepEqual(found, []);
    assert.match(log, /run as the user of this process: they cannot read .*They can read the same files/);
  });

  it('find secrets where nothing can be done, and the log says so', async () => {
    // A process with a channel to its parent cannot start again.
    const { reports, log } = await reportsOf('open', { uid: SOMEBODY, path: join(folder, 'bin'), ipc: true });
    for (const { found } of reports) assert.match(found.join(), /^environ \d+,memory \d+$/);
    assert.match(log, /"level":40.*they can read the secrets in its environment and memory/);
  });
});

function reportIn(text: string): Report {
  const [json] = /\{"uid".*?\}/.exec(text.replaceAll('\\"', '"')) ?? [];
  return JSON.parse(json ?? assert.fail(text)) as Report;
}
