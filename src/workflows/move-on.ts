import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Lets a workflow move to the newest version of the workers with its next task, where most stay with the version that
 * began them: for those that may last for so long that nobody would keep old workers for them. Given to
 * `setWorkflowOptions`. Temporal takes no such word from a worker without a version.
 */
export function moveOn(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion?.deploymentName
    ? { versioningBehavior: 'AUTO_UPGRADE' }
    : {};
}
