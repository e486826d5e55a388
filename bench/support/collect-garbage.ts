import { releaseMemory } from '../../src/runtime/release-memory.ts';

/** The signal that makes a process collect garbage and return the pages, if it was started with this file as `--import`. */
export const COLLECT: NodeJS.Signals = 'SIGUSR2';

process.on(COLLECT, releaseMemory);
