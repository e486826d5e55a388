import type { Client } from '@temporalio/client';
import { setTimeout as wait } from 'node:timers/promises';
import { GRPC, grpcCodeOf, withinDeadline } from './deadlines.ts';

/** A version of the workers, as Temporal sees it. */
export type VersionView = {
  build: string;
  /** `inactive`: never used; `draining`: nothing new, but not all that it began has ended; `drained`: stop it. */
  status: 'inactive' | 'current' | 'ramping' | 'draining' | 'drained' | 'created' | 'unknown';
  /** Of new work, in percent; of the current version what a ramping one leaves. */
  share: number;
  /** Workflows that belong to it and have not ended, paused ones among them. */
  open: number;
};

/** What operators do with the versions of the workers. */
export type VersionControl = ReturnType<typeof createVersionControl>;

/** Temporal tells all its task queues of a choice before it answers. */
const CALL_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 500;
/** The version or one of its queues is not known yet, or Temporal was too slow to say that it is done. */
const AGAIN = new Set<number>([GRPC.notFound, GRPC.failedPrecondition, GRPC.deadlineExceeded]);

/** `deployment` is the name that the workers were given. */
export function createVersionControl(client: Client, deployment: string) {
  const { namespace } = client.options;
  const service = client.workflowService;
  const within = <T>(call: () => Promise<T>) => withinDeadline(client, CALL_LIMIT_MS, call);

  /** Counted at once; Temporal's own word for a version whose work has ended comes some minutes later. */
  async function openOf(build: string): Promise<number> {
    const query = `TemporalWorkerDeploymentVersion = '${deployment}:${build}' and ExecutionStatus in ('Running', 'Paused')`;
    return (await within(() => client.workflow.count(query))).count;
  }

  return {
    /** All versions, newest first; none where no worker with one has ever come. */
    async list(): Promise<VersionView[]> {
      const found = await within(() =>
        service.describeWorkerDeployment({ namespace, deploymentName: deployment }),
      ).catch((error: unknown) => {
        if (grpcCodeOf(error) === GRPC.notFound) return null;
        throw error;
      });
      const { versionSummaries, routingConfig } = found?.workerDeploymentInfo ?? {};
      const ramped = routingConfig?.rampingDeploymentVersion
        ? (routingConfig.rampingVersionPercentage ?? 0)
        : 0;
      const views = (versionSummaries ?? []).map(async ({ deploymentVersion, status }) => {
        const build = deploymentVersion?.buildId ?? '';
        const name = statusOf(status);
        const share = name === 'current' ? 100 - ramped : name === 'ramping' ? ramped : 0;
        return { build, status: name, share, open: await openOf(build) };
      });
      return await Promise.all(views);
    },

    /**
     * Gives a version all new work, or `percent` of it, and what always moves to the newest version. One whose workers
     * are not all there yet is waited for.
     * @throws what Temporal says against it when `withinMs` are over
     */
    async use(build: string, percent: number, withinMs: number): Promise<void> {
      const identity = 'baton admin';
      const until = Date.now() + withinMs;
      const request = { namespace, deploymentName: deployment, buildId: build, identity };
      for (;;) {
        try {
          if (percent < 100) {
            await within(() =>
              service.setWorkerDeploymentRampingVersion({ ...request, percentage: percent }),
            );
          } else await within(() => service.setWorkerDeploymentCurrentVersion(request));
          return;
        } catch (error) {
          const code = grpcCodeOf(error);
          // To choose a version again that is chosen changes nothing.
          const mayCome = AGAIN.has(code ?? Number.NaN);
          if (!mayCome || Date.now() > until) throw error;
          await wait(LOOK_EVERY_MS);
        }
      }
    },
  };
}

const STATUSES = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained', 'created'] as const;

/** The service answers with the name of the status, or with its number. */
function statusOf(status: unknown): VersionView['status'] {
  if (typeof status === 'number') return STATUSES[status] ?? 'unknown';
  const name = String(status).replace('WORKER_DEPLOYMENT_VERSION_STATUS_', '').toLowerCase();
  return STATUSES.find((known) => known === name) ?? 'unknown';
}
