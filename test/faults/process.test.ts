import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inCheckout } from '../../dev/common/paths.ts';

/** A process without services, whose end takes a moment. Its parent can let it fail. */
const PROGRAM = `
  import { setTimeout } from 'node:timers/promises';
  import { runProcess } from ${JSON.stringify(inCheckout('src', 'runtime', 'process.ts'))};
  const how = process.argv[2];
  await runProcess('test', async () => {
    if (how === 'fails at its start') throw new Error('no database');
    const { promise, reject, resolve } = Promise.withResolvers();
    process.on('message', (message) => (message === 'fail' ? reject(new Error('broken')) : resolve()));
    return {
      stopped: promise,
      async close() {
        console.log('closes');
        await setTimeout(50);
        if (how === 'fails at its end') throw new Error('stuck');
      },
    };
  });`;

describe('a process of the service', () => {
  let folder: string;
  const children: ChildProcess[] = [];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-process-'));
    writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  });
  after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  /** Starts a process. `act` is done when it is ready. Returns its exit code, and how often it closed. */
  async function ending(how: string, act: (child: ChildProcess) => void) {
    const child = fork(join(folder, 'program.mjs'), [how], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    children.push(child);
    child.once('message', () => act(child));
    assert.ok(child.stdout);
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return { code, closed: output.split('closes').length - 1, output };
  }

  it('closes once if it is asked to, however often', async () => {
    const { code, closed } = await ending('ends', (child) => {
      child.kill('SIGTERM');
      child.kill('SIGINT');
      child.disconnect();
    });
    assert.deepEqual([code, closed], [0, 1]);
  });

  it('closes if its parent is gone', async () => {
    const { code, closed } = await ending('ends', (child) => child.disconnect());
    assert.deepEqual([code, closed], [0, 1]);
  });

  it('ends with an error if a part of it stops, or it cannot start', async () => {
    for (const [how, message] of [
      ['ends', 'fail'],
      ['ends', 'stop'],
      ['fails at its end', 'fail'],
    ] as const) {
      const { code, closed } = await ending(how, (child) => child.send(message));
      assert.deepEqual([code, closed], [1, 1], `${how} ${message}`);
    }
    const { code, output } = await ending('fails at its start', () => {});
    assert.equal(code, 1);
    assert.match(output, /"msg":"no database"/);
  });
});
