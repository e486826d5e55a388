import type { Rehearsal } from '../src/domain/tasks/rehearsal.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { Random } from '../test/support/random.ts';

/** What a caller asks of a run on its way. */
export type Wish = 'pause' | 'continue' | 'cancel';

/** One submission with all that its caller does. Times in milliseconds. */
export type PlannedTask = {
  /** Stands in the run's metadata, and is its Idempotency-Key. */
  mark: string;
  at: number;
  sort: Sort;
  rehearsal: Rehearsal;
  /** How the run may end if nobody cancels it. */
  ends: TaskState[];
  /** Since the submission was answered. */
  wishes: { after: number; wish: Wish }[];
  withCallback: boolean;
  /** Whether a submission that got no answer is given up instead of sent again. */
  givesUp: boolean;
  viewers: number;
  /** Seed for what the viewers choose. */
  viewerSeed: number;
};

type Sort =
  | 'completes'
  | 'recovers'
  | 'fails'
  | 'escalates'
  | 'is asked'
  | 'is paused'
  | 'is cancelled'
  | 'is cancelled while paused';

const SORTS: readonly Sort[] = [
  'completes',
  'completes',
  'recovers',
  'fails',
  'escalates',
  'is asked',
  'is paused',
  'is paused',
  'is cancelled',
  'is cancelled while paused',
];
const EVERY_MS = 900;

/** Submissions of all sorts, about one a second, in an order of the seed's. */
export function planTasks(random: Random, loadMs: number): PlannedTask[] {
  const tasks: PlannedTask[] = [];
  let sorts: Sort[] = [];
  for (let at = 500; at < loadMs; at += random.whole(EVERY_MS / 2, EVERY_MS * 1.5)) {
    if (sorts.length === 0) sorts = shuffled(random, SORTS);
    tasks.push(taskOf(random, sorts.pop() ?? 'completes', `task-${tasks.length + 1}`, at));
  }
  return tasks;
}

function taskOf(random: Random, sort: Sort, mark: string, at: number): PlannedTask {
  const steps = random.whole(3, 6);
  const isSteered = sort.startsWith('is ') && sort !== 'is asked';
  const step_ms = isSteered ? random.whole(800, 1_500) : random.whole(0, 900);
  const play = { steps, step_ms, progress_events: random.whole(0, 4) };
  return {
    mark,
    at,
    sort,
    rehearsal: { ...play, ...incidentOf(random, sort, steps) },
    ends: [sort === 'fails' ? 'failed' : sort === 'escalates' ? 'escalated' : 'completed'],
    wishes: wishesOf(random, sort),
    withCallback: random.next() < 0.75,
    givesUp: random.next() < 0.15,
    viewers: random.of([0, 1, 2]),
    viewerSeed: random.whole(1, 2 ** 31),
  };
}

function incidentOf(random: Random, sort: Sort, steps: number): Rehearsal {
  const step = random.whole(2, steps);
  if (sort === 'recovers') return { fail: { step, times: 1 } };
  if (sort === 'fails') return { unrecoverable: { step } };
  if (sort === 'escalates') return { escalate: { step, reason: 'A person must decide.' } };
  if (sort === 'is asked') return { ask: { step, question: 'May this go on?' } };
  return {};
}

function wishesOf(random: Random, sort: Sort): PlannedTask['wishes'] {
  const first = random.whole(300, 1_500);
  const second = first + random.whole(800, 3_000);
  if (sort === 'is paused') {
    return [
      { after: first, wish: 'pause' },
      { after: second, wish: 'continue' },
    ];
  }
  if (sort === 'is cancelled') return [{ after: first, wish: 'cancel' }];
  if (sort === 'is cancelled while paused') {
    return [
      { after: first, wish: 'pause' },
      { after: second, wish: 'cancel' },
    ];
  }
  return [];
}

/** The same things in an order of chance. */
export function shuffled<T>(random: Random, things: readonly T[]): T[] {
  return things
    .map((thing) => ({ thing, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ thing }) => thing);
}
