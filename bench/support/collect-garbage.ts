/** The signal that makes a process collect garbage, if it was started with `--expose-gc` and this file as `--import`. */
export const COLLECT: NodeJS.Signals = 'SIGUSR2';

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

// The last-resort collection also returns freed pages, which would otherwise stay with the process for a while.
const collect = (globalThis as { gc?: Collect }).gc;
if (collect) process.on(COLLECT, () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }));
