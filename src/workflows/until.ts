import { CancellationScope, condition } from '@temporalio/workflow';

/**
 * Resolves once `holds` returns true, immediately if it already does. The SDK's `condition` creates half a dozen
 * promises even then, and each costs as much as a small query.
 * @throws CancelledFailure if the current scope is cancelled, even if `holds` returns true
 */
export async function until(holds: () => boolean): Promise<void> {
  if (holds() && !CancellationScope.current().consideredCancelled) return;
  await condition(holds);
}
