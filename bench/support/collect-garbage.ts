/** Sent to a process that was started with this file as `--import` and `--expose-gc`, makes it collect its garbage. */
export const COLLECT: NodeJS.Signals = 'SIGUSR2';

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

// The last resort gives freed pages back, too, which else stay with the process for a while.
const collect = (globalThis as { gc?: Collect }).gc;
if (collect) process.on(COLLECT, () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }));
