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
    // A world that never ends must not keep a core busy after its test has failed.
    { maxBuffer: 64 * 1_048_576, timeout: 110_000 },
  );
  return stdout.trim().split('\n');
}

describe('the simulation', () => {
  it('finds no violation in 120 worlds', async () => {
    const lines = await simulate('--seeds', '60');
    assert.equal(lines.at(-1), '60 passed, 0 failed', lines.join('\n'));
  });

  const found: [kind: string, seed: string, what: string][] = [
    [
      'deliveries',
      '8422',
      'sends nothing again for a worker that was frozen before it sent the deliveries of its group',
    ],
    ['deliveries', '130', 'gives the first attempts of a worker that stops the time to end'],
    ['runs', '716', 'continues a run that was paused after a lost workflow task had recorded its question'],
  ];
  for (const [kind, seed, what] of found) {
    it(what, async () => {
      const lines = await simulate('--only', kind, '--seed', seed);
      assert.equal(lines.at(-1), '1 passed, 0 failed', lines.join('\n'));
    });
  }

  it('does the same again for the same seeds, whatever runs at the same time', async () => {
    const traced = (threads: string) =>
      simulate('--from', '1001', '--seeds', '5', '--threads', threads, '--trace');
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

  it('refuses invalid options', async () => {
    await assert.rejects(simulate('--seeds', 'many'), /must be whole numbers/);
    await assert.rejects(simulate('--only', 'mails'), /no worlds of mails/);
  });
});
