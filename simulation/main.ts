import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { GUARANTEES } from './invariants/guarantees.ts';
import { runSeeds } from './pool.ts';
import type { Failure } from './shrink.ts';
import { describeStep } from './story.ts';

/*
 * `npm run simulate [-- --seeds N] [--from N] [--threads N]` runs the stories of seeds in simulated worlds.
 * `npm run simulate -- --seed N --trace` prints what happens in one. Exit codes: 1 if a guarantee did not hold, 2 if an
 * option is invalid.
 */

const USAGE = 'npm run simulate -- [--seeds N] [--from N] [--threads N] | --seed N [--trace]';
const DEFAULT_SEEDS = 10_000;
/** Failing stories that are printed, and the last lines of their traces. */
const SHOWN_FAILURES = 5;
const SHOWN_LINES = 25;

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
  await runSeeds(options, ({ seed, hash, trace, failure }) => {
    done += 1;
    digest.update(hash);
    if (isTraced) console.log(trace);
    if (failure) failures += 1;
    if (failure && failures <= SHOWN_FAILURES) console.log(describeFailure(seed, failure));
    if (done % 1_000 === 0 && done < count) console.log(`  ${done} seeds, ${failures} failed`);
  });
  const seconds = (performance.now() - begun) / 1_000;
  console.log(`${done} seeds in ${seconds.toFixed(1)} s (${(done / seconds).toFixed(1)} seeds per second)`);
  console.log(`traces: ${digest.digest('hex')}`);
  console.log(`${done - failures} passed, ${failures} failed`);
  return failures === 0 ? 0 : 1;
}

function describeFailure(seed: number, { story, violation, trace }: Failure): string {
  const { workers, limits, webhooks, steps } = story;
  return [
    `seed ${seed}: "${GUARANTEES[violation.guarantee]}" did not hold`,
    `  ${violation.what}`,
    `  shortest story: ${workers} workers, limits ${JSON.stringify(limits)}`,
    ...webhooks.map(({ workspace, mode }, index) => `    webhook ${index}: workspace ${workspace}, ${mode}`),
    ...steps.map((step) => `  ${describeStep(step)}`),
    '  end of its trace:',
    ...trace
      .split('\n')
      .slice(-SHOWN_LINES)
      .map((line) => `    ${line}`),
  ].join('\n');
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
    },
  });
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const threads = Number(values.threads);
  const isValid = [from, count, threads].every((number) => Number.isSafeInteger(number) && number > 0);
  if (!isValid) throw new Error(`The options must be whole numbers above zero. ${USAGE}`);
  return { from, count, threads, isTraced: values.trace };
}
