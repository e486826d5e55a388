import { CancellationScope, condition } from '@temporalio/workflow';

/**
 * Resolves once `holds`, at once where it does already: the SDK's `condition` makes half a dozen promises even
 * then, and each costs as much as a small query.
 * @throws CancelledFailure when the current scope is cancelled, also where `holds` is true
 */
export async function until(holds: () => boolean): Promise<void> {
  if (holds() && !CancellationScope.current().consideredCancelled) return;
  await condition(holds);
}
