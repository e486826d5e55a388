import type { WorkerDeploymentOptions } from '@temporalio/worker';
import type { WorkersVersion } from './configuration.ts';

/**
 * Returns the worker options of a version; empty if versions are not used. Workflows stay on the version that started
 * them, unless their code says otherwise.
 */
export function versionOptions(version: WorkersVersion | null): {
  workerDeploymentOptions?: WorkerDeploymentOptions;
} {
  if (version === null) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: version.deployment, buildId: version.build },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
  };
}
