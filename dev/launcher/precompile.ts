import { inCheckout } from '../common/paths.ts';

/*
 * Loads the code of the launcher and of our processes without running it, so that Node stores it compiled in NODE_COMPILE_CACHE.
 * A process that finds all of its code there does not load Node's TypeScript compiler, which takes 12 MB of each process.
 */
const PROGRAMS = [
  'dev/launcher/start.ts',
  'dev/launcher/setup-tasks.ts',
  'src/runtime/sandbox-preload.ts',
  'src/api/server.ts',
  'workers/all-workers.ts',
];

for (const program of PROGRAMS) await import(inCheckout(program));
process.exit();
