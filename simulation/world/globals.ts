import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock, VirtualTimer } from './clock.ts';
import type { Random } from './random.ts';
import { real } from './real.ts';

/** The world that runs in this thread. */
let world: { clock: Clock; random: Random } | null = null;

/** The time of the workflow whose code runs; null if none runs. */
let workflowTime: number | null = null;

const RealDate = real.Date;

/**
 * Replaces the clock, the timers and the random numbers of this thread by those of a world. Production code then runs
 * unchanged, by the time of the world. Null: the real ones again, except timers, which must not be used then.
 */
export function enter(next: typeof world): void {
  world = next;
}

/** Sets the time that the code of a workflow reads: the time of its task. Null: the time of the world again. */
export function setWorkflowTime(time: number | null): void {
  workflowTime = time;
}

function clock(): Clock {
  if (world === null) throw new Error('a timer was used outside of a simulated world');
  return world.clock;
}

/** Starts a timer of the current process, in the current asynchronous context. */
function start(work: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): VirtualTimer {
  const inContext = AsyncLocalStorage.snapshot();
  return clock().after(Math.max(1, ms), clock().process(), () => inContext(work, ...values));
}
const stop = (timer: VirtualTimer | undefined) => timer?.cancel();

function startInterval(work: () => void, ms: number): VirtualTimer {
  let timer = start(tick, ms);
  function tick(): void {
    timer = start(tick, ms);
    work();
  }
  const interval: VirtualTimer = {
    cancel: () => timer.cancel(),
    ref: () => interval,
    unref: () => interval,
  };
  return interval;
}

class WorldDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(WorldDate.now());
    else super(...(given as [number]));
  }
  static override now(): number {
    if (workflowTime !== null) return workflowTime;
    return world ? Math.floor(world.clock.now()) : RealDate.now();
  }
}

Object.assign(globalThis, {
  Date: WorldDate,
  setTimeout: start,
  clearTimeout: stop,
  setInterval: startInterval,
  clearInterval: stop,
  setImmediate: (work: () => void) => clock().after(0, clock().process(), work),
  clearImmediate: stop,
});
Math.random = () => (world ? world.random.next() : real.random());
performance.now = () => (world ? world.clock.now() - world.clock.begin() : real.now());
