import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inCheckout } from '../../dev/common/paths.ts';

/** Includes a clone, two installations with empty caches, and two starts. */
const LIMIT_MS = 900_000;
/** Bounds that a slow hour does not change: the reference runs on the same machine at the same time. */
const MAX_BANNER_TO_NPM_CI = 3;
const MAX_SECOND_START_TO_BANNER = 0.5;
const MAX_FILES = 23_500;
const MAX_MB = 550;

describe('the first steps of a new user', function () {
  this.timeout(LIMIT_MS);

  it('lead from a clone to a verified callback, and cost little more than the packages', async () => {
    const words = [inCheckout('dev', 'walk', 'main.ts'), '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: inCheckout() });
    const figures = JSON.parse(stdout) as Record<string, number>;
    const shown = JSON.stringify(figures);
    const { banner_s = NaN, callback_s = NaN, second_start_s = NaN, npm_ci_s = NaN } = figures;
    assert.ok(banner_s < callback_s, shown);
    assert.ok(banner_s / npm_ci_s < MAX_BANNER_TO_NPM_CI, shown);
    assert.ok(second_start_s / banner_s < MAX_SECOND_START_TO_BANNER, shown);
    assert.ok(Number(figures['packages_files']) < MAX_FILES, shown);
    assert.ok(Number(figures['packages_mb']) < MAX_MB, shown);
    console.log(`    ${shown}`);
  });
});
