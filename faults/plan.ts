import { createRandom, type Random } from '../test/support/random.ts';
import { planDisturbances, type Disturbance } from './plan-disturbances.ts';
import { planEvents, type PlannedEvents } from './plan-events.ts';
import { planTasks, type PlannedTask } from './plan-tasks.ts';

/** Everything that will be done, with its times; the same for the same seed and length. */
export type StoryPlan = {
  seed: number;
  minutes: number;
  /** How long load and disturbances go on, in milliseconds; the rest of the minutes is for settling. */
  loadMs: number;
  tasks: PlannedTask[];
  events: PlannedEvents[];
  disturbances: Disturbance[];
};

/** The least length of a story, in minutes: the first scheduled retry comes after one minute. */
export const LEAST_MINUTES = 3;
export const SHORT_MINUTES = 5;
export const LONG_MINUTES = 14;
/** For the last retries and what they wait for. */
const SETTLING_MS = 110_000;

/** Plans a story of so many minutes on a quiet machine. All chance in it comes from the seed. */
export function planStory(seed: number, minutes: number): StoryPlan {
  const loadMs = Math.max(60_000, minutes * 60_000 - SETTLING_MS);
  const random: Random = createRandom(seed);
  const [ofTasks, ofEvents, ofDisturbances] = [random.fork(), random.fork(), random.fork()];
  return {
    seed,
    minutes,
    loadMs,
    tasks: planTasks(ofTasks, loadMs),
    events: planEvents(ofEvents, loadMs),
    disturbances: planDisturbances(ofDisturbances, loadMs),
  };
}
