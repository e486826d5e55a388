import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '../test/support/parts.ts';
import type { Made } from './books.ts';
import type { Cast } from './cast.ts';
import type { Disturbance, Lane, PartName } from './plan-disturbances.ts';

/** What befalls receivers; each answers once it is over. */
export type Troubles = Readonly<
  Record<'clock' | 'certificate' | 'refusals', (lastsMs: number) => Promise<void>>
>;

type Dependencies = {
  cast: Cast;
  troubles: Troubles;
  until(at: number): Promise<void>;
  say(sentence: string): void;
  /** Called around what is done to a process, whose end is no surprise then. */
  expecting(part: PartName, work: () => Promise<void>): Promise<void>;
};

const STARTS_WITHIN_MS = 120_000;

/** Makes every disturbance at its time, lane by lane. */
export async function makeDisturbances(deps: Dependencies, plans: readonly Disturbance[]): Promise<Made[]> {
  const made: Made[] = [];
  const lanes = [...new Set(plans.map(({ lane }) => lane))];
  const inLane = async (lane: Lane) => {
    for (const planned of plans.filter((one) => one.lane === lane)) {
      await deps.until(planned.at);
      made.push(await make(deps, planned));
    }
  };
  // What befalls receivers may overlap: each has a receiver of its own.
  const sideBySide = plans.filter(({ lane }) => lane === 'receivers');
  await Promise.all([
    ...lanes.filter((lane) => lane !== 'receivers').map(inLane),
    ...sideBySide.map(async (planned) => {
      await deps.until(planned.at);
      made.push(await make(deps, planned));
    }),
  ]);
  return made.toSorted((a, b) => a.from - b.from);
}

async function make(deps: Dependencies, planned: Disturbance): Promise<Made> {
  const from = Date.now();
  deps.say(inWords(planned));
  const failure = await disturb(deps, planned).then(
    () => null,
    (error: Error) => error.message,
  );
  if (failure !== null) deps.say(`${inWords(planned)}: ${failure}`);
  return { planned, from, to: Date.now(), failure };
}

async function disturb({ cast, troubles, expecting }: Dependencies, planned: Disturbance): Promise<void> {
  const { kind, lasts } = planned;
  if (kind === 'cut') {
    const link = cast.link(planned.link);
    link.cut(planned.how, planned.delayMs);
    await wait(lasts);
    return link.heal();
  }
  if (kind === 'disk') return await expecting('postgres', () => fillDisk(cast, lasts));
  if (kind !== 'kill' && kind !== 'freeze' && kind !== 'restart') return await troubles[kind](lasts);
  const part = cast.parts[planned.part];
  await expecting(planned.part, async () => {
    if (kind === 'freeze') part.freeze();
    else if (kind === 'kill') await part.kill();
    else await part.stop();
    await wait(lasts);
    if (kind === 'freeze') part.thaw();
    else await startAgain(part);
  });
}

/** Until it starts: what it needs may be away itself. @throws the last failure after two minutes */
export async function startAgain(part: Part): Promise<void> {
  for (const limit = Date.now() + STARTS_WITHIN_MS; ; ) {
    const failure = await part.start().then(
      () => null,
      (error: Error) => error,
    );
    if (failure === null) return;
    if (Date.now() > limit) throw failure;
    await wait(500);
  }
}

/** PostgreSQL finds no room any more; when there is room again it is started, where it has not kept running. */
async function fillDisk({ disk, parts: { postgres } }: Cast, lastsMs: number): Promise<void> {
  await disk.fill(postgres.pid());
  try {
    await wait(lastsMs);
  } finally {
    await disk.free(postgres.isRunning() ? postgres.pid() : null);
  }
  // A server that is just about to give up would not be noticed at once.
  await wait(1_500);
  if (!postgres.isRunning()) await startAgain(postgres);
}

/** A disturbance in a few words. */
export function inWords(planned: Disturbance): string {
  const { kind, lasts } = planned;
  const forSeconds = `for ${(lasts / 1_000).toFixed(1)} s`;
  switch (kind) {
    case 'kill':
      return `kill ${planned.part}, away ${forSeconds}`;
    case 'freeze':
      return `freeze ${planned.part} ${forSeconds}`;
    case 'restart':
      return `restart ${planned.part}`;
    case 'cut':
      return `${planned.how} ${planned.link} ${forSeconds}${planned.delayMs > 0 ? `, ${planned.delayMs} ms` : ''}`;
    case 'disk':
      return `the disk of PostgreSQL is full ${forSeconds}`;
    case 'clock':
      return `the clock of a receiver is 10 minutes off ${forSeconds}`;
    case 'certificate':
      return `the certificate of a receiver runs out, a new one comes after ${(lasts / 1_000).toFixed(1)} s`;
    case 'refusals':
      return `a receiver answers 500 ${forSeconds}, until its webhook is disabled and later`;
  }
}
