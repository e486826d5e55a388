import type { WorkerDeploymentOptions } from '@temporalio/worker';
import type { WorkersVersion } from './configuration.ts';

/**
 * What a worker is created with so that Temporal knows its version; nothing where versions are not used. Workflows
 * stay with the version that began them, apart from those that say otherwise beside their code.
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
