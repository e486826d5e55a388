import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Returns the memory that only the start of the process needed: half of V8's heap, 50 MB and more. V8 would keep it until
 * a later garbage collection, which an idle process does not reach. Blocks for a tenth of a second to a third, so call it
 * before the process gets work.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  // Only the last-resort collection also gives empty pages back to the system.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--no-expose-gc');
}
