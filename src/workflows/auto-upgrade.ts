import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Moves a workflow to the newest version of the workers with its next task. Other workflows stay with the version that
 * started them. Meant for workflows that may run longer than operators keep old workers. Pass it to
 * `setWorkflowOptions`. Temporal rejects this option from a worker without a version.
 */
export function autoUpgrade(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion?.deploymentName
    ? { versioningBehavior: 'AUTO_UPGRADE' }
    : {};
}
