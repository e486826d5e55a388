import { heartbeat } from '@temporalio/activity';

const HEARTBEAT_MS = 1_500;

/**
 * Tells Temporal every 1.5 s that the current activity's worker lives; the answer ends it. What `details` answers is
 * there for whoever has to take the work up after a crash.
 */
export function startHeartbeat(details: () => unknown = () => undefined): () => void {
  heartbeat(details());
  const timer = setInterval(() => heartbeat(details()), HEARTBEAT_MS);
  return () => clearInterval(timer);
}
