import type { Launch } from './launch.ts';
import { logFileOf } from './log-file.ts';
import { loadNodeService, startNodeService } from './node-service.ts';
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

/** Our own processes while they load their code. */
export type OwnProcesses = {
  /** Gives each its environment, and waits until all are ready. From then on, they are restarted when they exit. */
  begin(environment: NodeJS.ProcessEnv): Promise<void>;
};

/** Starts to load the code of the API and of the workers, which takes as long as PostgreSQL and Temporal need to start. */
export async function loadOwnProcesses(launch: Launch): Promise<OwnProcesses> {
  const loaded = await Promise.all(
    OWN.map(async ({ names, process: name, title, log, root }) => {
      const plan = { name: `The ${title}`, root, logFile: logFileOf(log) };
      const record = (pid: number) => {
        for (const child of names) launch.children.record(child, pid, root);
      };
      const loading = await loadNodeService(plan, environmentOf(name, process.env));
      record(loading.pid);
      return { name, title, plan, record, loading };
    }),
  );
  launch.stops.push(() => Promise.all(loaded.map(({ loading }) => loading.kill())));
  return {
    async begin(environment) {
      const starting = loaded.map(({ name, title, plan, record, loading }) => {
        const own = environmentOf(name, environment);
        const charge = {
          ...plan,
          start: (previous: Child | null) =>
            previous === null ? loading.begin(own) : startNodeService({ ...plan, environment: own }),
          onStarted(child: Child) {
            record(child.pid);
            launch.onRestarted();
          },
        };
        return launch.progress.step(title, () => keepRunning<Child>(charge, launch.progress.say));
      });
      const { up, check } = await waitForStarts(starting);
      launch.stops.push(() => Promise.all(up.map((watch) => watch.stop())));
      check();
      launch.shutdown.check();
    },
  };
}

/**
 * Returns the environment of one of our processes: without the secrets that it does not need. The worker process gets the port
 * after METRICS_PORT, because the API listens at METRICS_PORT.
 */
export function environmentOf(process: ProcessName, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const unneeded: readonly string[] = UNNEEDED_SECRETS[process];
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => !unneeded.includes(name)));
  const port = own['METRICS_PORT'] ?? '';
  // The process itself reports a value that is not a port.
  return process === 'all-workers' && /^\d+$/.test(port)
    ? { ...own, METRICS_PORT: `${Number(port) + 1}` }
    : own;
}
