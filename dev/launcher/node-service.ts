import { describeEnding, startProcess, tailOf, type RunningProcess } from '../common/processes.ts';
import { checkout, inCheckout, local } from '../common/paths.ts';
import { ENVIRONMENT_FOLLOWS, type EnvironmentMessage } from '../../src/runtime/environment-message.ts';
import type { Child } from './supervisor.ts';

/**
 * The options of Node. A young generation of 6 MB instead of 16 saves 100 MB in an API process and a delivery worker under load, at
 * the same CPU. The first file loads code so that it needs little memory. The second removes the time limit of calls into the workflow
 * sandbox.
 */
export const NODE_OPTIONS = [
  '--max-semi-space-size=6',
  '--disable-warning=ExperimentalWarning',
  '--import',
  inCheckout('src', 'runtime', 'load-code.mjs'),
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

/** One of our processes: its displayed name, its TypeScript entry point, and its log. */
export type NodeServicePlan = { name: string; root: string; logFile: string };

/** A process that loads its code, and then waits for its environment. */
export type LoadingService = {
  pid: number;
  /**
   * Gives it its environment. Resolves when it is ready.
   * @throws Error with the end of its log if it exits before it is ready, or is not ready within 90 s
   */
  begin(environment: NodeJS.ProcessEnv): Promise<Child>;
  kill(): Promise<unknown>;
};

/**
 * Starts one of our processes. Resolves when it is ready.
 * @throws Error with the end of its log if it exits before it is ready, or is not ready within 90 s
 */
export async function startNodeService(
  plan: NodeServicePlan & {
    environment: NodeJS.ProcessEnv;
    /** Options of Node. Default: those of our own processes. */
    nodeOptions?: readonly string[];
  },
): Promise<Child> {
  return await untilReady(await spawnService(plan, environmentOf(plan.environment), plan.nodeOptions), plan);
}

/**
 * Starts one of our processes before its environment is known, so that it loads its code while the services that it needs
 * start. `given` is the part that is known.
 */
export async function loadNodeService(
  plan: NodeServicePlan,
  given: NodeJS.ProcessEnv,
): Promise<LoadingService> {
  const running = await spawnService(plan, { ...environmentOf(given), [ENVIRONMENT_FOLLOWS]: '1' });
  return {
    pid: running.pid,
    async begin(environment) {
      const message: EnvironmentMessage = { environment: environmentOf(environment) };
      // If it has exited, its ending says so.
      running.child.send(message, () => {});
      return await untilReady(running, plan);
    },
    kill: running.kill,
  };
}

function environmentOf(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _, ...environment } = given;
  return { ...MEMORY, BATON_CODE_CACHE: local('cache', 'code'), ...environment };
}

function spawnService(
  { root, logFile }: NodeServicePlan,
  env: NodeJS.ProcessEnv,
  nodeOptions: readonly string[] = NODE_OPTIONS,
): Promise<RunningProcess> {
  const args = [...nodeOptions, root];
  return startProcess({ command: process.execPath, args, logFile, env, cwd: checkout, ipc: true });
}

async function untilReady(running: RunningProcess, { name, logFile }: NodeServicePlan): Promise<Child> {
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
  throw new Error(`${name} did not start: ${how}. Last lines of ${logFile}:\n${tailOf(logFile)}`);
}
