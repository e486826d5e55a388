import { describeEnding, startProcess, tailOf } from '../common/processes.ts';
import { checkout, inCheckout, local } from '../common/paths.ts';
import type { Child } from './supervisor.ts';

/**
 * The options of Node. A young generation of 6 MB instead of 16 saves 100 MB in an API process and a delivery worker under load, at
 * the same CPU. The first file loads TypeScript without a compiler. The second removes the time limit of calls into the workflow
 * sandbox.
 */
export const NODE_OPTIONS = [
  '--max-semi-space-size=6',
  '--disable-warning=ExperimentalWarning',
  '--import',
  inCheckout('src', 'runtime', 'strip-types.mjs'),
  '--import',
  inCheckout('src', 'runtime', 'sandbox-preload.ts'),
];
/**
 * Temporal's core has dozens of threads. By default, glibc gives each a separate heap, which costs 100 MB and more for
 * each process, and keeps more of what was freed the more the process has allocated.
 */
const MEMORY = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
};
const READY_LIMIT_MS = 90_000;

/**
 * Starts one of our processes from its TypeScript entry point. Resolves when it is ready.
 * @throws Error with the end of its log if it exits before it is ready, or is not ready within 90 s
 */
export async function startNodeService(plan: {
  name: string;
  root: string;
  logFile: string;
  environment: NodeJS.ProcessEnv;
  /** Options of Node. Default: those of our own processes. */
  nodeOptions?: readonly string[];
}): Promise<Child> {
  const { NODE_COMPILE_CACHE: _, ...environment } = plan.environment;
  const running = await startProcess({
    command: process.execPath,
    args: [...(plan.nodeOptions ?? NODE_OPTIONS), plan.root],
    logFile: plan.logFile,
    env: { ...MEMORY, BATON_TYPESCRIPT_CACHE: local('cache', 'typescript'), ...environment },
    cwd: checkout,
    ipc: true,
  });
  const ready = new Promise<'ready'>((resolve) => {
    running.child.on('message', (message) => {
      if (message !== null && typeof message === 'object' && 'ready' in message) resolve('ready');
    });
  });
  const limit = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => limit.resolve('late'), READY_LIMIT_MS);
  const first = await Promise.race([ready, running.ended, limit.promise]).finally(() => clearTimeout(timer));
  if (first === 'ready') return { pid: running.pid, ended: running.ended, stop: () => running.stop(25_000) };
  await running.kill();
  const how = first === 'late' ? 'it was not ready within 90 s' : `it ended ${describeEnding(first)}`;
  throw new Error(
    `${plan.name} did not start: ${how}. Last lines of ${plan.logFile}:\n${tailOf(plan.logFile)}`,
  );
}
