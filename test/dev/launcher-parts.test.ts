import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ending } from '../../dev/common/processes.ts';
import { beginChildrenRecord } from '../../dev/launcher/children-record.ts';
import { takeLock } from '../../dev/launcher/lock.ts';
import { stopAll } from '../../dev/launcher/stop-all.ts';
import { keepRunning, type Child } from '../../dev/launcher/supervisor.ts';
import { ensureLocalTls } from '../../dev/launcher/tls.ts';
import { waitForStarts } from '../../dev/launcher/wait-for-starts.ts';
import { eventually } from '../support/eventually.ts';

const DAY_MS = 86_400_000;

const marked: { child: ChildProcess; ended: Promise<unknown> }[] = [];

/** Starts a process that has `mark` in its command line and ends only by a signal. */
function startMarked(mark: string) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', mark], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  marked.push({ child, ended });
  return { pid: child.pid ?? assert.fail('it did not start'), ended, child };
}

describe('the launcher', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-launcher-'));
  });
  after(async () => {
    for (const { child } of marked) child.kill('SIGKILL');
    await Promise.all(marked.map(({ ended }) => ended));
    rmSync(folder, { recursive: true });
  });

  describe('restarts a child that exits', () => {
    type Fake = Child & { number: number; exits: (ending: Ending) => void; isStopped: boolean };
    const said: string[] = [];
    const started: Fake[] = [];
    let failures = 0;
    const start = async (previous: Fake | null): Promise<Fake> => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('no port');
      }
      const { promise, resolve } = Promise.withResolvers<Ending>();
      const child: Fake = {
        pid: 1,
        number: (previous?.number ?? 0) + 1,
        ended: promise,
        exits: resolve,
        isStopped: false,
        async stop() {
          child.isStopped = true;
        },
      };
      return child;
    };
    const plan = {
      name: 'The child',
      logFile: '/nowhere',
      start,
      onStarted: (child: Fake) => void started.push(child),
    };

    it('until it is stopped', async () => {
      const watch = await keepRunning<Fake>(plan, (sentence) => void said.push(sentence));
      failures = 1;
      watch.current().exits({ code: 3, signal: null });
      await eventually('it is restarted', () => said.includes('The child was restarted.'));
      assert.match(said.join('\n'), /ended unexpectedly .*3[\s\S]*could not be restarted: no port/);
      watch.current().exits({ code: null, signal: 'SIGKILL' });
      await eventually('it is restarted again', () => started.length === 3);
      assert.deepEqual(
        started.map(({ number }) => number),
        [1, 2, 3],
      );
      assert.equal(watch.current(), started[2]);
      await watch.stop();
      assert.deepEqual(
        started.map(({ isStopped }) => isStopped),
        [false, false, true],
      );
    });

    it('and reports a start that cannot be recorded', async () => {
      const file = join(folder, 'missing', 'children.json');
      const reports: string[] = [];
      const watch = await keepRunning<Fake>(
        { ...plan, onStarted: ({ number }) => writeFileSync(file, String(number)) },
        (sentence) => void reports.push(sentence),
      );
      const first = watch.current();
      first.exits({ code: 3, signal: null });
      await eventually('it is restarted', () => reports.includes('The child was restarted.'));
      const unrecorded = reports.filter((sentence) =>
        sentence.startsWith('The child is running, but its start could not be recorded: ENOENT'),
      );
      assert.equal(unrecorded.length, 2);
      await watch.stop();
      assert.notEqual(watch.current(), first);
      assert.equal(watch.current().isStopped, true);
    });

    it('but not if its first start fails', async () => {
      failures = 1;
      await assert.rejects(
        keepRunning<Fake>(plan, () => {}),
        /no port/,
      );
    });
  });

  it('is one for each checkout, and takes over from one that was killed', async () => {
    const file = join(folder, 'launcher.pid');
    const release = takeLock(file, 'a launcher');
    assert.equal(readFileSync(file, 'utf8'), `${process.pid}\n`);
    release();
    assert.equal(existsSync(file), false);

    const other = startMarked('a launcher');
    writeFileSync(file, `${other.pid}\n`);
    await eventually('the other has started', () => {
      try {
        takeLock(file, 'a launcher');
        return false;
      } catch (error) {
        return (error as Error).message.includes(`already running from this checkout (process ${other.pid})`);
      }
    });
    writeFileSync(file, `${other.pid}\n`);
    takeLock(file, 'another mark')();
    other.child.kill('SIGKILL');
    await other.ended;
    writeFileSync(file, `${other.pid}\n`);
    takeLock(file, 'a launcher')();
  });

  it('stops what a killed launcher has left, and no other process with the same id', async () => {
    const file = join(folder, 'children.json');
    const [left, other] = [startMarked('left over'), startMarked('somebody else')];
    const earlier = await beginChildrenRecord(file, () => {});
    earlier.record('left', left.pid, 'left over');
    earlier.record('other', other.pid, 'left over');
    assert.deepEqual(earlier.pids(), { left: left.pid, other: other.pid });
    const said: string[] = [];
    await eventually('the child has its command line', async () => {
      await beginChildrenRecord(file, (sentence) => void said.push(sentence));
      return said.length > 0;
    });
    await left.ended;
    assert.deepEqual(said, [`stopped left (process ${left.pid}), left over from an earlier start`]);
    assert.equal(other.child.exitCode ?? other.child.signalCode, null);
  });

  it('waits for all starts before it reports those that failed', async () => {
    const slow = Promise.withResolvers<string>();
    const waiting = waitForStarts([Promise.reject(new Error('no disk')), slow.promise]);
    slow.resolve('database');
    const { up, check } = await waiting;
    assert.deepEqual(up, ['database']);
    assert.throws(check, /^Error: no disk$/);
    (await waitForStarts([Promise.resolve(1)])).check();
  });

  it('stops everything in reverse order, also after a failure', async () => {
    const stopped: string[] = [];
    const errors = await stopAll([
      () => void stopped.push('lock'),
      () => rmSync(folder),
      () => Promise.reject(new Error('no answer')),
      async () => void stopped.push('API'),
    ]);
    assert.deepEqual(stopped, ['API', 'lock']);
    assert.match(errors.map(({ message }) => message).join('\n'), /^no answer\n.*directory/);
  });

  it('renews the local certificate a month before it expires', async () => {
    const tls = join(folder, 'tls');
    const now = new Date();
    const certificate = async (days: number) => {
      const { cert } = await ensureLocalTls(tls, new Date(now.getTime() + days * DAY_MS));
      return readFileSync(cert, 'utf8');
    };
    const first = await certificate(0);
    assert.equal(await certificate(366), first);
    assert.notEqual(await certificate(368), first);
  });
});
