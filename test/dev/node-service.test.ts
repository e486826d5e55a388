import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { isAlive, startProcess } from '../../dev/common/processes.ts';
import { loadNodeService, startNodeService } from '../../dev/launcher/node-service.ts';
import { eventually } from '../support/eventually.ts';

const MESSAGE = inCheckout('src', 'runtime', 'environment-message.ts');

describe('a process of the service', () => {
  let folder: string;
  let plan: { name: string; root: string; logFile: string };
  let seen: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-node-service-'));
    seen = join(folder, 'seen.json');
    plan = { name: 'The program', root: join(folder, 'program.ts'), logFile: join(folder, 'program.log') };
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      plan.root,
      `import { writeFileSync } from 'node:fs';
      import { receiveEnvironment } from ${JSON.stringify(MESSAGE)};
      const loaded: string | undefined = process.env['GIVEN'];
      await receiveEnvironment();
      if (process.env['FAILS']) throw new Error('no database');
      writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ loaded, environment: process.env }));
      process.send?.({ ready: true });
      setInterval(() => {}, 1_000);`,
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  const seenBy = () => JSON.parse(readFileSync(seen, 'utf8'));

  it('loads its code, then begins with the environment that follows, and with no other variable', async () => {
    const loading = await loadNodeService(plan, { GIVEN: 'first', ONLY_FIRST: 'x' });
    const child = await loading.begin({ GIVEN: 'second', NODE_COMPILE_CACHE: folder });
    const { loaded, environment } = seenBy();
    assert.equal(loaded, 'first');
    const { BATON_CODE_CACHE: cache, ...rest } = environment;
    assert.match(cache, /code$/);
    assert.deepEqual(rest, {
      GIVEN: 'second',
      MALLOC_ARENA_MAX: '2',
      MALLOC_TRIM_THRESHOLD_: '131072',
      MALLOC_MMAP_THRESHOLD_: '131072',
    });
    assert.equal(child.pid, loading.pid);
    await child.stop();
  });

  it('begins at once if it has its environment', async () => {
    const child = await startNodeService({ ...plan, environment: { GIVEN: 'only' } });
    assert.equal(seenBy().environment.GIVEN, 'only');
    await child.stop();
  });

  it('reports the end of its log if it fails', async () => {
    const loading = await loadNodeService(plan, {});
    await assert.rejects(
      loading.begin({ FAILS: '1' }),
      /^Error: The program did not start: it ended .*no database/s,
    );
    const gone = await loadNodeService(plan, {});
    await gone.kill();
    await assert.rejects(gone.begin({}), /The program did not start: it ended by SIGKILL/);
  });

  it('exits if its launcher ends before it begins', async () => {
    const launcher = join(folder, 'launcher.ts');
    const service = inCheckout('dev', 'launcher', 'node-service.ts');
    writeFileSync(
      launcher,
      `import { writeFileSync } from 'node:fs';
      import { loadNodeService } from ${JSON.stringify(service)};
      const { pid } = await loadNodeService(${JSON.stringify(plan)}, {});
      writeFileSync(${JSON.stringify(seen)}, JSON.stringify(pid));
      setInterval(() => {}, 1_000);`,
    );
    rmSync(seen, { force: true });
    const running = await startProcess({
      command: process.execPath,
      args: [launcher],
      logFile: join(folder, 'launcher.log'),
    });
    const pid = await eventually('it was started', () => {
      try {
        return seenBy() as number;
      } catch {
        return null;
      }
    });
    assert.ok(isAlive(pid));
    await running.kill();
    await eventually('it has exited', () => !isAlive(pid));
  });
});
