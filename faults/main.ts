import { parseArgs } from 'node:util';
import { LEAST_MINUTES, LONG_MINUTES, planStory, SHORT_MINUTES } from './plan.ts';
import { brokenLines, tableOf } from './report.ts';
import { playStory } from './story.ts';

/*
 * `npm run faults [-- --seed N] [--minutes N | --long] [--plan]`: plays a story of faults and says which invariants held.
 * Ends with 1 where one did not, with 2 where the words are not understood.
 */

const USAGE = 'npm run faults -- [--seed N] [--minutes N | --long] [--plan]';

try {
  const { seed, minutes, onlyPlan } = readWords();
  const plan = planStory(seed, minutes);
  if (onlyPlan) console.log(JSON.stringify(plan, null, 2));
  else process.exitCode = await play(plan);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}

async function play(plan: ReturnType<typeof planStory>): Promise<number> {
  const began = Date.now();
  console.log(
    `seed ${plan.seed}, ${plan.minutes} minutes (npm run faults -- --seed ${plan.seed} --minutes ${plan.minutes} plays it again): ` +
      `${plan.tasks.length} tasks, ${plan.events.flatMap(({ events }) => events).length} events, ${plan.disturbances.length} disturbances`,
  );
  const say = (sentence: string) =>
    console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${sentence}`);
  const report = await playStory(plan, say);
  console.log(tableOf(report));
  return brokenLines(report.lines).length === 0 ? 0 : 1;
}

/** @throws a sentence with the words that are understood */
function readWords(): { seed: number; minutes: number; onlyPlan: boolean } {
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
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed takes a whole number. ${USAGE}`);
  if (!(minutes >= LEAST_MINUTES)) throw new Error(`--minutes takes ${LEAST_MINUTES} or more. ${USAGE}`);
  return { seed, minutes, onlyPlan: values.plan };
}
