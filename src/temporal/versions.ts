import type { Client } from '@temporalio/client';
import { setTimeout as wait } from 'node:timers/promises';
import { GRPC, grpcCodeOf, withinDeadline } from './deadlines.ts';

/** A version of the workers in Temporal. */
export type VersionView = {
  build: string;
  /**
   * `inactive`: never used. `draining`: gets no new workflows, but some that it started are open. `drained`: can be
   * stopped.
   */
  status: 'inactive' | 'current' | 'ramping' | 'draining' | 'drained' | 'created' | 'unknown';
  /** Share of new workflows, in percent. The current version has what a ramping one leaves. */
  share: number;
  /** Open workflows of the version, including paused ones. */
  open: number;
};

/** Operations on the versions of the workers. */
export type VersionControl = ReturnType<typeof createVersionControl>;

const VERSION_CALL_LIMIT_MS = 30_000;
const POLL_MS = 500;
/** Codes for: the version or one of its queues is not known yet, or Temporal was too slow to confirm. */
const RETRYABLE_CODES = new Set<number>([GRPC.notFound, GRPC.failedPrecondition, GRPC.deadlineExceeded]);

/** Creates the operations. `deployment` is the name of the workers' deployment. */
export function createVersionControl(client: Client, deployment: string) {
  const { namespace } = client.options;
  const service = client.workflowService;
  const within = <T>(call: () => Promise<T>) => withinDeadline(client, VERSION_CALL_LIMIT_MS, call);

  /** Returns the number of open workflows of a version. Temporal reports a drained version only minutes later. */
  async function openOf(build: string): Promise<number> {
    const query = `TemporalWorkerDeploymentVersion = '${deployment}:${build}' and ExecutionStatus in ('Running', 'Paused')`;
    return (await within(() => client.workflow.count(query))).count;
  }

  const describe = () =>
    within(() => service.describeWorkerDeployment({ namespace, deploymentName: deployment }));

  /**
   * Returns whether some task queues do not follow the last choice yet. A Temporal before 1.30 updates them before it
   * responds.
   */
  async function isSpreading(): Promise<boolean> {
    try {
      const { workerDeploymentInfo } = await describe();
      return Number(workerDeploymentInfo?.routingConfigUpdateState) === SPREADING;
    } catch (error) {
      // The choice is made. Whether it is followed is unknown until Temporal responds.
      if (RETRYABLE_CODES.has(grpcCodeOf(error) ?? Number.NaN)) return true;
      throw error;
    }
  }

  return {
    /** Returns all versions, newest first. Empty if no versioned worker has ever connected. */
    async list(): Promise<VersionView[]> {
      const found = await describe().catch((error: unknown) => {
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
     * Gives a version all new work, or `percent` of it, and the workflows that always move to the newest version. Waits
     * up to `withinMs` for missing workers of the version, and as long again until Temporal's task queues follow the
     * choice. Until then, new runs still go to the previous version. Returns false if not all task queues follow it yet.
     * @throws Temporal's error if it still rejects the choice after `withinMs`
     */
    async use(build: string, percent: number, withinMs: number): Promise<boolean> {
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
          break;
        } catch (error) {
          const code = grpcCodeOf(error);
          // Choosing the current version again changes nothing.
          const isRetryable = RETRYABLE_CODES.has(code ?? Number.NaN);
          if (!isRetryable || Date.now() > until) throw error;
          await wait(POLL_MS);
        }
      }
      const followedUntil = Date.now() + withinMs;
      while (await isSpreading()) {
        if (Date.now() > followedUntil) return false;
        await wait(POLL_MS);
      }
      return true;
    },
  };
}

/** `ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS` of Temporal's interface. */
const SPREADING = 1;

const STATUSES = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained', 'created'] as const;

/** Returns the status for its name or its number. The service sends either. */
function statusOf(status: unknown): VersionView['status'] {
  if (typeof status === 'number') return STATUSES[status] ?? 'unknown';
  const name = String(status).replace('WORKER_DEPLOYMENT_VERSION_STATUS_', '').toLowerCase();
  return STATUSES.find((known) => known === name) ?? 'unknown';
}
