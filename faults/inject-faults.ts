import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '../test/support/parts.ts';
import type { InjectedFault } from './records.ts';
import type { ProxiedService } from './service.ts';
import type { PlannedFault, Lane, PartName } from './plan-faults.ts';

/** Faults of the receivers themselves. Each resolves when it is over. */
export type ReceiverFaults = Readonly<
  Record<'clock' | 'certificate' | 'refusals', (durationMs: number) => Promise<void>>
>;

type Dependencies = {
  service: ProxiedService;
  receiverFaults: ReceiverFaults;
  waitUntil(at: number): Promise<void>;
  log(sentence: string): void;
  /** Marks an exit of the process during `work` as expected. */
  expectExit(part: PartName, work: () => Promise<void>): Promise<void>;
};

const START_TIMEOUT_MS = 120_000;

/** Injects every fault at its time. Faults of one lane follow each other. */
export async function injectFaults(
  deps: Dependencies,
  faults: readonly PlannedFault[],
): Promise<InjectedFault[]> {
  const injected: InjectedFault[] = [];
  const lanes = [...new Set(faults.map(({ lane }) => lane))];
  const injectLane = async (lane: Lane) => {
    for (const fault of faults.filter((one) => one.lane === lane)) {
      await deps.waitUntil(fault.at);
      injected.push(await inject(deps, fault));
    }
  };
  // Faults of receivers may overlap: each has a separate receiver.
  const receiverFaults = faults.filter(({ lane }) => lane === 'receivers');
  await Promise.all([
    ...lanes.filter((lane) => lane !== 'receivers').map(injectLane),
    ...receiverFaults.map(async (fault) => {
      await deps.waitUntil(fault.at);
      injected.push(await inject(deps, fault));
    }),
  ]);
  return injected.toSorted((a, b) => a.from - b.from);
}

async function inject(deps: Dependencies, fault: PlannedFault): Promise<InjectedFault> {
  const from = Date.now();
  deps.log(describeFault(fault));
  const failure = await apply(deps, fault).then(
    () => null,
    (error: Error) => error.message,
  );
  if (failure !== null) deps.log(`${describeFault(fault)}: ${failure}`);
  return { fault, from, to: Date.now(), failure };
}

async function apply(
  { service, receiverFaults, expectExit }: Dependencies,
  fault: PlannedFault,
): Promise<void> {
  const { kind, durationMs } = fault;
  if (kind === 'disconnect') {
    const link = service.link(fault.link);
    link.disconnect(fault.mode, fault.delayMs);
    await wait(durationMs);
    return link.restore();
  }
  if (kind === 'disk') return await expectExit('postgres', () => fillDisk(service, durationMs));
  if (kind !== 'kill' && kind !== 'freeze' && kind !== 'restart')
    return await receiverFaults[kind](durationMs);
  const part = service.parts[fault.part];
  await expectExit(fault.part, async () => {
    if (kind === 'freeze') part.freeze();
    else if (kind === 'kill') await part.kill();
    else await part.stop();
    await wait(durationMs);
    if (kind === 'freeze') part.thaw();
    else await restartPart(part);
  });
}

/**
 * Starts a part, repeatedly if a service that it needs is down.
 * @throws the last failure after two minutes
 */
export async function restartPart(part: Part): Promise<void> {
  for (const limit = Date.now() + START_TIMEOUT_MS; ; ) {
    const failure = await part.start().then(
      () => null,
      (error: Error) => error,
    );
    if (failure === null) return;
    if (Date.now() > limit) throw failure;
    await wait(500);
  }
}

/** Fills PostgreSQL's disk. Frees it after `durationMs`, and starts the server again if it has exited. */
async function fillDisk({ disk, parts: { postgres } }: ProxiedService, durationMs: number): Promise<void> {
  await disk.fill(postgres.pid());
  try {
    await wait(durationMs);
  } finally {
    await disk.free(postgres.isRunning() ? postgres.pid() : null);
  }
  // A server that is about to exit would not be noticed at once.
  await wait(1_500);
  if (!postgres.isRunning()) await restartPart(postgres);
}

/** Describes a fault in a few words. */
export function describeFault(fault: PlannedFault): string {
  const { kind, durationMs } = fault;
  const forSeconds = `for ${(durationMs / 1_000).toFixed(1)} s`;
  switch (kind) {
    case 'kill':
      return `kill ${fault.part}, down ${forSeconds}`;
    case 'freeze':
      return `freeze ${fault.part} ${forSeconds}`;
    case 'restart':
      return `restart ${fault.part}`;
    case 'disconnect':
      return `${fault.mode} ${fault.link} ${forSeconds}${fault.delayMs > 0 ? `, ${fault.delayMs} ms` : ''}`;
    case 'disk':
      return `PostgreSQL's disk is full ${forSeconds}`;
    case 'clock':
      return `a receiver's clock is 10 minutes off ${forSeconds}`;
    case 'certificate':
      return `a receiver's certificate expires, it gets a new one after ${(durationMs / 1_000).toFixed(1)} s`;
    case 'refusals':
      return `a receiver responds with 500 ${forSeconds}, so its webhook is disabled`;
  }
}
