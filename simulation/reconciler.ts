import type { Logger } from 'pino';
import {
  holdOrCancelLeftovers,
  regroupStuckEvents,
  restartBacklogs,
  restartEndedRetries,
  startForgottenManualRetries,
  startOverdueRetries,
  startUnstartedGroups,
  startUnstartedRetries,
  type DeliveryDependencies,
  type OverduePositions,
} from '../src/reconciler/forgotten-deliveries.ts';
import type { Engine } from './engine/engine.ts';
import type { Clock, Process } from './world/clock.ts';

/** Parts of the reconciler: those of each turn, and those of each sweep. */
export type Parts<Dependencies> = Record<
  'everyTurn' | 'everySweep',
  ((deps: Dependencies) => Promise<void>)[]
>;

/** The parts for deliveries. */
export const DELIVERY_PARTS: Parts<
  DeliveryDependencies & { engine: Pick<Engine, 'hasOpenDispatch'>; positions: OverduePositions }
> = {
  everyTurn: [startUnstartedGroups, startUnstartedRetries],
  everySweep: [
    regroupStuckEvents,
    holdOrCancelLeftovers,
    restartBacklogs,
    restartEndedRetries,
    startForgottenManualRetries,
    startOverdueRetries,
  ],
};

/** Time between two turns, and between two sweeps, in milliseconds. */
const EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 30_000;
/** Longest time between two turns while nothing is left to do. */
const IDLE_MS = 15 * 60_000;

/** Runs parts of the production reconciler. Its turns become rarer until `wake` is called, since a world may last for days. */
export function startReconciler<Dependencies>(
  clock: Clock,
  process: Process,
  { everyTurn, everySweep }: Parts<Dependencies>,
  deps: Dependencies,
): { wake(): void } {
  let sweptAt = Number.NEGATIVE_INFINITY;
  let everyMs = EVERY_MS;
  let timer = clock.after(EVERY_MS, process, () => void turn());

  async function turn(): Promise<void> {
    const isDue = clock.now() - sweptAt >= SWEEP_EVERY_MS;
    if (isDue) sweptAt = clock.now();
    // A part that fails does not stop the others.
    for (const part of isDue ? [...everyTurn, ...everySweep] : everyTurn) await part(deps).catch(() => {});
    everyMs = Math.min(IDLE_MS, everyMs * 1.2);
    timer = clock.after(everyMs, process, () => void turn());
  }

  return {
    wake() {
      const isLate = everyMs > 2 * EVERY_MS;
      everyMs = EVERY_MS;
      if (!isLate) return;
      timer.cancel();
      timer = clock.after(EVERY_MS, process, () => void turn());
    },
  };
}

const silent = () => {};
export const SILENT = { debug: silent, info: silent, warn: silent, error: silent } as unknown as Logger;
