import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';

/** Includes a clone, an installation with empty caches, and two starts. */
const LIMIT_MS = 1_200_000;
/**
 * Bounds that neither a slow machine nor a slow registry changes. The first start is without its downloads, and about twice
 * as long as the second.
 */
const MAX_FIRST_TO_SECOND_START = 8;
const MAX_SECOND_START_TO_BANNER = 0.5;
const MAX_FILES = 23_500;
const MAX_MB = 550;

describe('the first steps of a new user', function () {
  this.timeout(LIMIT_MS);

  it('lead from a clone to a verified callback, and take not much longer than a second start', async () => {
    const words = [inCheckout('dev', 'walk', 'main.ts'), '--json', '--quick'];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, words, { cwd: inCheckout() });
    const figures = JSON.parse(stdout) as Record<string, number>;
    const shown = `${stderr}\n${JSON.stringify(figures)}`;
    const {
      banner_s = NaN,
      downloads_s = NaN,
      tour_s = NaN,
      callback_s = NaN,
      second_start_s = NaN,
    } = figures;
    assert.ok(banner_s < tour_s && tour_s < callback_s, shown);
    assert.ok((banner_s - downloads_s) / second_start_s < MAX_FIRST_TO_SECOND_START, shown);
    assert.ok(second_start_s / banner_s < MAX_SECOND_START_TO_BANNER, shown);
    assert.ok(Number(figures['packages_files']) < MAX_FILES, shown);
    assert.ok(Number(figures['packages_mb']) < MAX_MB, shown);
    console.log(`    ${JSON.stringify(figures)}`);
  });
});
