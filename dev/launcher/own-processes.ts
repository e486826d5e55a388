import type { Launch } from './launch.ts';
import { logFileOf } from './log-file.ts';
import { startNodeService } from './node-service.ts';
import { UNNEEDED_SECRETS, type ProcessName } from '../../src/runtime/unneeded-secrets.ts';
import { inCheckout } from '../common/paths.ts';
import { waitForStarts } from './wait-for-starts.ts';
import { keepRunning, type Child } from './supervisor.ts';

/** Our own processes: the name in `pids`, the name in the configuration, the displayed name, and the entry point. */
const OWN = [
  { name: 'api', process: 'api', title: 'API', root: inCheckout('src', 'api', 'server.ts') },
  {
    name: 'task_worker',
    process: 'task-worker',
    title: 'task worker',
    root: inCheckout('workers', 'task-worker.ts'),
  },
  {
    name: 'delivery_worker',
    process: 'delivery-worker',
    title: 'delivery worker',
    root: inCheckout('workers', 'delivery-worker.ts'),
  },
] as const;

/** Starts the API and the workers concurrently, and restarts them when they exit. */
export async function startOwnProcesses(environment: NodeJS.ProcessEnv, launch: Launch): Promise<void> {
  const starting = OWN.map(({ name, process, title, root }) => {
    const logFile = logFileOf(name);
    const own = withoutUnneeded(environment, process);
    const charge = {
      name: `The ${title}`,
      logFile,
      start: () => startNodeService({ name: `The ${title}`, root, logFile, environment: own }),
      onStarted(child: Child) {
        launch.children.record(name, child.pid, root);
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
