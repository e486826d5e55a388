import { inCheckout } from '../common/paths.ts';

/*
 * Loads the code of the launcher and of our processes without running it, so that the caches contain it: as our processes load it in
 * BATON_CODE_CACHE (`src/runtime/load-code.mjs`), and for the launcher, whose start everybody waits for, compiled in
 * NODE_COMPILE_CACHE.
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
