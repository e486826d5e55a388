import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runSeeds } from './pool.ts';
import type { KindName } from './kinds.ts';

/*
 * `npm run simulate [-- --seeds N] [--from N] [--threads N]` runs the stories of seeds in simulated worlds: each seed in a
 * world of deliveries and in a world of runs, or with `--only` in one of them. `npm run simulate -- --seed N --trace` prints
 * what happens. Exit codes: 1 if a guarantee did not hold, 2 if an option is invalid.
 */

const USAGE =
  'npm run simulate -- [--only deliveries|runs] [--seeds N] [--from N] [--threads N] | --seed N [--trace]';
const KINDS: readonly KindName[] = ['deliveries', 'runs'];
const DEFAULT_SEEDS = 10_000;
/** Failing stories that are printed. */
const SHOWN_FAILURES = 5;

try {
  process.exitCode = await run(readOptions());
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}

async function run(options: ReturnType<typeof readOptions>): Promise<number> {
  const { from, count, threads, isTraced } = options;
  const begun = performance.now();
  const digest = createHash('sha256');
  let failures = 0;
  let done = 0;
  console.log(`${count} seeds from ${from}, ${threads} threads`);
  await runSeeds(options, ({ hash, trace, failures: found }) => {
    done += 1;
    digest.update(hash);
    if (isTraced) console.log(trace);
    if (found.length > 0) failures += 1;
    if (failures <= SHOWN_FAILURES) for (const failure of found) console.log(failure);
    if (done % 1_000 === 0 && done < count) console.log(`  ${done} seeds, ${failures} failed`);
  });
  const seconds = (performance.now() - begun) / 1_000;
  console.log(`${done} seeds in ${seconds.toFixed(1)} s (${(done / seconds).toFixed(1)} seeds per second)`);
  console.log(`traces: ${digest.digest('hex')}`);
  console.log(`${done - failures} passed, ${failures} failed`);
  return failures === 0 ? 0 : 1;
}

/** Reads the options. @throws an error with the usage if one is invalid */
function readOptions() {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: String(DEFAULT_SEEDS) },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      threads: { type: 'string', default: String(availableParallelism()) },
      trace: { type: 'boolean', default: false },
      only: { type: 'string' },
    },
  });
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const threads = Number(values.threads);
  const isValid = [from, count, threads].every((number) => Number.isSafeInteger(number) && number > 0);
  if (!isValid) throw new Error(`The options must be whole numbers above zero. ${USAGE}`);
  const kinds = KINDS.filter((kind) => values.only === undefined || values.only === kind);
  if (kinds.length === 0) throw new Error(`There are no worlds of ${values.only}. ${USAGE}`);
  return { from, count, threads, kinds, isTraced: values.trace };
}
