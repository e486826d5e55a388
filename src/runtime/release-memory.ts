import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * Returns the memory that only the start of the process needed: half of V8's heap, 50 MB and more. V8 would keep it until
 * a later garbage collection, which an idle process does not reach. Blocks for a tenth of a second to a third, so call it
 * before the process gets work. From then on, each garbage collection also removes compiled code that has not run since the last
 * one, in all threads. It is compiled again when it runs.
 */
export function releaseMemory(): void {
  // V8 would keep such code for six garbage collections, and what its first compiler has made of it for longer. An API process
  // keeps 15 MB of what its first requests needed.
  setFlagsFromString('--bytecode-old-age=1');
  setFlagsFromString('--flush-baseline-code');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  // Only the last-resort collection also gives empty pages back to the system.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--no-expose-gc');
}
