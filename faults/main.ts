import { parseArgs } from 'node:util';
import { MIN_MINUTES, LONG_MINUTES, planScenario, SHORT_MINUTES } from './plan.ts';
import { findViolations, formatReport } from './report.ts';
import { runScenario } from './scenario.ts';

/*
 * `npm run faults [-- --seed N] [--minutes N | --long] [--plan]` runs a fault scenario and reports which invariants held.
 * Exit codes: 1 if an invariant was violated, 2 if an option is invalid.
 */

const USAGE = 'npm run faults -- [--seed N] [--minutes N | --long] [--plan]';

try {
  const { seed, minutes, onlyPlan } = readOptions();
  const plan = planScenario(seed, minutes);
  if (onlyPlan) console.log(JSON.stringify(plan, null, 2));
  else process.exitCode = await run(plan);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}

async function run(plan: ReturnType<typeof planScenario>): Promise<number> {
  const began = Date.now();
  console.log(
    `seed ${plan.seed}, ${plan.minutes} minutes (npm run faults -- --seed ${plan.seed} --minutes ${plan.minutes} repeats it): ` +
      `${plan.tasks.length} tasks, ${plan.events.flatMap(({ events }) => events).length} events, ${plan.faults.length} faults`,
  );
  const log = (sentence: string) =>
    console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${sentence}`);
  const report = await runScenario(plan, log);
  console.log(formatReport(report));
  return findViolations(report.invariants).length === 0 ? 0 : 1;
}

/** Reads the options. @throws an error with the usage if one is invalid */
function readOptions(): { seed: number; minutes: number; onlyPlan: boolean } {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      minutes: { type: 'string' },
      long: { type: 'boolean', default: false },
      plan: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  const minutes = Number(values.minutes ?? (values.long ? LONG_MINUTES : SHORT_MINUTES));
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed must be a whole number. ${USAGE}`);
  if (!(minutes >= MIN_MINUTES)) throw new Error(`--minutes must be ${MIN_MINUTES} or more. ${USAGE}`);
  return { seed, minutes, onlyPlan: values.plan };
}
