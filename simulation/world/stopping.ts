import type { Clock, Process } from './clock.ts';

/** Longest time from SIGTERM to the exit of a process, in milliseconds. */
const CLOSE_LIMIT_MS = 20_000;

/** Runs what a process does at SIGTERM. Then, or after the time limit, the process exits. */
export function stopProcess(
  clock: Clock,
  process: Process,
  close: () => Promise<void>,
  onExit: () => void = () => {},
): void {
  const exit = (): void => {
    if (process.state === 'dead') return;
    onExit();
    clock.kill(process);
  };
  clock.after(CLOSE_LIMIT_MS, null, exit);
  clock.within(process, () => {
    void close().then(exit);
  });
}
