import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';
import { GUARANTEES } from '../../simulation/invariants/guarantees.ts';

/** Runs `npm run simulate` with options, in processes of its own: it replaces the clock. Returns the lines of its output. */
async function simulate(...options: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [inCheckout('simulation', 'main.ts'), ...options],
    {
      maxBuffer: 64 * 1_048_576,
    },
  );
  return stdout.trim().split('\n');
}

describe('the simulation', () => {
  it('finds no violation in 200 worlds', async () => {
    const lines = await simulate('--seeds', '200');
    assert.equal(lines.at(-1), '200 passed, 0 failed', lines.join('\n'));
  });

  const found: [seed: string, what: string][] = [
    ['6637', 'ends the retries of a delivery whose worker was frozen during one'],
    ['8422', 'sends nothing again for a worker that was frozen before it sent the deliveries of its group'],
  ];
  for (const [seed, what] of found) {
    it(what, async () => {
      const lines = await simulate('--seed', seed);
      assert.equal(lines.at(-1), '1 passed, 0 failed', lines.join('\n'));
    });
  }

  it('does the same again for the same seeds, whatever runs at the same time', async () => {
    const traced = (threads: string) =>
      simulate('--from', '1001', '--seeds', '15', '--threads', threads, '--trace');
    const [one, two] = await Promise.all([traced('1'), traced('2')]);
    const withoutTimes = (lines: string[]) =>
      lines.filter((line) => !/threads$|per second\)$/.test(line)).join('\n');
    assert.ok(one.length > 1_000);
    assert.equal(withoutTimes(one), withoutTimes(two));
  });

  it('names guarantees as the documents do', () => {
    const page = readFileSync(inCheckout('docs', 'explanation', 'guarantees.md'), 'utf8');
    for (const guarantee of Object.values(GUARANTEES)) assert.ok(page.includes(guarantee), guarantee);
  });

  it('refuses options that are not numbers', async () => {
    await assert.rejects(simulate('--seeds', 'many'), /must be whole numbers/);
  });
});
