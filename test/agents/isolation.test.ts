import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { findProgram } from '../../src/agents/find-program.ts';
import { NO_ISOLATION, type Isolation } from '../../src/agents/isolation.ts';
import { startProgram, type ProgramEnd, type RunningProgram } from '../../src/agents/own-process.ts';
import { chooseIsolation, isolatePrograms } from '../../src/runtime/program-isolation.ts';
import { probePrograms } from '../../src/runtime/program-probe.ts';
import { eventually } from '../support/eventually.ts';
import type { Report } from '../support/prying-program.ts';

const PRYING = {
  command: process.execPath,
  args: [join(import.meta.dirname, '../support/prying-program.ts')],
};
const PATH = process.env['PATH'] ?? '';
const unshare = findProgram('unshare', PATH) ?? '';

describe('the isolation of programs', () => {
  let victim: ChildProcess;
  const started: RunningProgram[] = [];
  before(() => {
    victim = spawn('sleep', ['600'], { env: { PATH, DATABASE_URL: 'postgres://baton:secret@db/baton' } });
  });
  after(() => void victim.kill());
  afterEach(async () => {
    await Promise.all(started.splice(0).map((program) => program.end()));
  });

  function start(command: string, args: string[], isolation: Isolation, HOME = '/', cwd?: string) {
    const lines: string[] = [];
    const handlers = { onLine: (line: string) => void lines.push(line), onDiagnostic: () => {} };
    const program = startProgram({ command, args, cwd }, { PATH, HOME }, handlers, isolation);
    started.push(program);
    return { program, lines };
  }
  async function report(isolation: Isolation): Promise<Report> {
    const { program, lines } = start(PRYING.command, PRYING.args, isolation);
    program.send('{}');
    const line = await eventually('its report', () => lines[0] ?? null, 60_000);
    return JSON.parse((JSON.parse(line) as { text: string }).text) as Report;
  }
  const isOfVictim = (place: string) => place.endsWith(` ${victim.pid}`);
  /** The isolations that work for this user. */
  async function usable(): Promise<Isolation[]> {
    const namespaces: Isolation = { kind: 'namespaces', unshare };
    const { isolation } = await chooseIsolation({ programsUser: null });
    return [isolation, ...((await probePrograms(namespaces)) ? [namespaces] : [])].filter(
      ({ kind }) => kind !== 'none',
    );
  }

  it('hides the secrets of other processes, which programs without it find', async () => {
    const open = await report(NO_ISOLATION);
    assert.ok(open.found.some(isOfVictim));
    for (const isolation of await usable()) {
      const { found } = await report(isolation);
      assert.deepEqual(found.filter(isOfVictim), [], isolation.kind);
    }
  });

  it('is checked with a program, which sees what others could see', async () => {
    const open = await probePrograms(NO_ISOLATION);
    assert.equal(open?.own, true);
    assert.ok(victim.pid !== undefined && open?.others.includes(victim.pid));
    for (const isolation of await usable()) {
      const exposure = await probePrograms(isolation);
      assert.deepEqual(
        [exposure?.own, exposure?.others.includes(victim.pid)],
        [false, false],
        isolation.kind,
      );
    }
  });

  it('recognizes the secrets of the service in the environment of other processes', async () => {
    const names = [
      'PGPASSWORD',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'TEMPORAL_GRPC_META_AUTHORIZATION',
      'BATON_API_KEY',
    ];
    const secretive = names.map((name) => spawn('sleep', ['600'], { env: { PATH, [name]: 'secret' } }));
    const other = spawn('sleep', ['600'], { env: { PATH, PGPASSWORD: '', PGUSER: 'baton' } });
    try {
      const others = (await probePrograms(NO_ISOLATION))?.others ?? [];
      assert.deepEqual(
        secretive.map(({ pid }) => others.includes(pid ?? 0)),
        names.map(() => true),
      );
      assert.ok(!others.includes(other.pid ?? 0));
    } finally {
      for (const child of [...secretive, other]) child.kill();
    }
  });

  it('gives programs of another user a HOME that they can write to, and no groups of this process', async function () {
    if (process.getuid?.() !== 0) this.skip();
    const { isolation } = await chooseIsolation({ programsUser: { uid: 60_607, gid: 60_608 } });
    const { lines } = start('sh', ['-c', 'touch "$HOME/file" && id -u && id -G && echo $HOME'], isolation);
    await eventually('its lines', () => lines.length === 3);
    assert.deepEqual(lines.slice(0, 2), ['60607', '60608']);
    const home = lines[2] ?? '';
    assert.match(home, /baton-programs-60607/);
    rmSync(home, { recursive: true });
  });

  const itWithoutRoot = process.getuid?.() === 0 ? () => {} : it;
  itWithoutRoot('refuses another user if this process may not switch to it', async () => {
    const choosing = chooseIsolation({ programsUser: { uid: 60_607, gid: 60_607 } });
    await assert.rejects(choosing, /AGENT_PROGRAMS_UID is 60607, but this process cannot/);
  });

  it('starts programs as this process if its own user is configured', async function () {
    if (process.getuid?.() !== 0) this.skip();
    const { isolation, exposure } = await chooseIsolation({ programsUser: { uid: 0, gid: 0 } });
    assert.deepEqual([isolation, exposure?.own], [NO_ISOLATION, true]);
  });

  it('is not chosen again if it was chosen before', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    const exposure = { own: false, others: [7], hasHome: true };
    const chosen = { isolation: { kind: 'namespaces', unshare: '/nowhere' }, exposure } as const;
    assert.equal(await isolatePrograms({ programsUser: null }, chosen, log), chosen.isolation);
    assert.equal(lines.length, 1);
    assert.deepEqual(JSON.parse(lines[0] ?? '').processes, [7]);
  });

  it('reports how a program ended, and that it or its folder is missing', async () => {
    for (const isolation of [NO_ISOLATION, ...(await usable())]) {
      assert.equal((await start('sh', ['-c', 'exit 7'], isolation).program.ended).code, 7);
      const { fault } = await start('/nowhere/at-all', [], isolation).program.ended;
      assert.equal(fault, 'program not found: /nowhere/at-all');
      const lost = start('sh', ['-c', 'exit 7'], isolation, '/', '/nowhere/here');
      assert.equal((await lost.program.ended).fault, 'folder not found: /nowhere/here');
      const file = start('sh', ['-c', 'exit 7'], isolation, '/', import.meta.filename);
      assert.equal((await file.program.ended).fault, `folder not found: ${import.meta.filename}`);
    }
  });

  it('ends a program with all that it has started, which can handle SIGTERM first', async () => {
    const script = `trap 'echo bye; exit 3' TERM; sleep 600 & echo started; wait`;
    for (const isolation of await usable()) {
      const { program, lines } = start('sh', ['-c', script], isolation);
      await eventually('it runs', () => lines.includes('started'));
      await program.end();
      assert.ok(lines.includes('bye'), isolation.kind);
      const stubborn = start('sh', ['-c', `trap '' TERM; echo started; sleep 600`], isolation);
      await eventually('it runs', () => stubborn.lines.includes('started'));
      await stubborn.program.end();
      const { code, signal }: ProgramEnd = await stubborn.program.ended;
      assert.ok(signal === 'SIGKILL' || code !== 0, isolation.kind);
    }
  });
});
