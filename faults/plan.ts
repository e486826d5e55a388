import { createRandom, type Random } from '../test/support/random.ts';
import { planFaults, type PlannedFault } from './plan-faults.ts';
import { planEvents, type PlannedEventRequest } from './plan-events.ts';
import { planTasks, type PlannedTask } from './plan-tasks.ts';

/** All actions of a scenario with their times. The same seed and length give the same plan. */
export type ScenarioPlan = {
  seed: number;
  minutes: number;
  /** How long load and faults last, in milliseconds. The remaining time is for settling. */
  loadMs: number;
  tasks: PlannedTask[];
  events: PlannedEventRequest[];
  faults: PlannedFault[];
};

/** The minimum length of a scenario, in minutes: the first scheduled retry comes after one minute. */
export const MIN_MINUTES = 3;
export const SHORT_MINUTES = 5;
export const LONG_MINUTES = 14;
/** The time for the last retries, in milliseconds. */
const SETTLING_MS = 110_000;

/** Plans a scenario of this length on an idle machine. All randomness comes from the seed. */
export function planScenario(seed: number, minutes: number): ScenarioPlan {
  const loadMs = Math.max(60_000, minutes * 60_000 - SETTLING_MS);
  const random: Random = createRandom(seed);
  const [taskRandom, eventRandom, faultRandom] = [random.fork(), random.fork(), random.fork()];
  return {
    seed,
    minutes,
    loadMs,
    tasks: planTasks(taskRandom, loadMs),
    events: planEvents(eventRandom, loadMs),
    faults: planFaults(faultRandom, loadMs),
  };
}
