import type { Say } from '../common/progress.ts';
import { local } from '../common/paths.ts';
import { readTemporalPlan } from '../services/temporal-plan.ts';
import type { SetupReply, SetupRequest } from './setup-messages.ts';
import type { TourPlan } from './tour.ts';

/*
 * The setup process: does what needs the packages of the service, and ends with the start. So these packages do not
 * stay in the memory of the launcher. They are loaded while PostgreSQL and Temporal start.
 */

const tasks = {
  readTemporalPlan: async () => readTemporalPlan(),
  async externalTemporal(_: null, say: Say) {
    const { externalTemporal } = await import('../services/external-temporal.ts');
    return await externalTemporal(say);
  },
  async ensureScreens() {
    const { ensureScreens } = await import('./web.ts');
    return await ensureScreens();
  },
  async buildBundle() {
    const { workflowBundle } = await import('../../src/runtime/bundle.ts');
    await workflowBundle({ warn: () => {} });
  },
  async ensureLocalTls(folder: string) {
    const { ensureLocalTls } = await import('./tls.ts');
    return await ensureLocalTls(folder);
  },
  async migrate(databaseUrl: string) {
    const { migrate } = await import('../../src/database/migrate.ts');
    await migrate(databaseUrl);
  },
  async ensureFirstWorkspace(databaseUrl: string) {
    const { ensureFirstWorkspace, installationFile } = await import('./first-workspace.ts');
    const file = installationFile(local(), process.env['DATABASE_URL'] || null);
    return await ensureFirstWorkspace(databaseUrl, file);
  },
  async takeTour(plan: TourPlan, say: Say) {
    const { takeTour } = await import('./tour.ts');
    await takeTour(plan, say);
  },
};

export type SetupTasks = typeof tasks;

async function run({ id, task, input }: SetupRequest): Promise<void> {
  const reply = (message: SetupReply) => process.send?.(message);
  const work = tasks[task as keyof SetupTasks] as (given: unknown, say: Say) => Promise<unknown>;
  try {
    reply({ id, result: await work(input, (said) => reply({ id, said })) });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    reply({ id, error: { message, ...(code === undefined ? {} : { code }) } });
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request) => void run(request as SetupRequest));
// The task reports a failed import.
void import('../../src/database/migrate.ts').catch(() => {});
