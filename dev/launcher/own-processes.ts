import type { Launch } from './launch.ts';
import { logFileOf } from './log-file.ts';
import { startNodeService } from './node-service.ts';
import { UNNEEDED_SECRETS, type ProcessName } from '../../src/runtime/unneeded-secrets.ts';
import { inCheckout } from '../common/paths.ts';
import { waitForStarts } from './wait-for-starts.ts';
import { keepRunning, type Child } from './supervisor.ts';

/**
 * Our own processes: the names in `pids`, the name in the configuration, the displayed name, the name of the log, and the
 * entry point. Both workers are one process here.
 */
const OWN = [
  { names: ['api'], process: 'api', title: 'API', log: 'api', root: inCheckout('src', 'api', 'server.ts') },
  {
    names: ['task_worker', 'delivery_worker'],
    process: 'all-workers',
    title: 'worker process',
    log: 'workers',
    root: inCheckout('workers', 'all-workers.ts'),
  },
] as const;

/** Starts the API and the workers concurrently, and restarts them when they exit. */
export async function startOwnProcesses(environment: NodeJS.ProcessEnv, launch: Launch): Promise<void> {
  const starting = OWN.map(({ names, process, title, log, root }) => {
    const logFile = logFileOf(log);
    const own = withoutUnneeded(environment, process);
    const charge = {
      name: `The ${title}`,
      logFile,
      start: () => startNodeService({ name: `The ${title}`, root, logFile, environment: own }),
      onStarted(child: Child) {
        for (const name of names) launch.children.record(name, child.pid, root);
        launch.onRestarted();
      },
    };
    return launch.progress.step(title, () => keepRunning<Child>(charge, launch.progress.say));
  });
  const { up, check } = await waitForStarts(starting);
  launch.stops.push(() => Promise.all(up.map((watch) => watch.stop())));
  check();
  launch.shutdown.check();
}

/** Returns the environment without the secrets that a process does not need. */
export function withoutUnneeded(environment: NodeJS.ProcessEnv, process: ProcessName): NodeJS.ProcessEnv {
  const unneeded: readonly string[] = UNNEEDED_SECRETS[process];
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !unneeded.includes(name)));
}
