import { heartbeat } from '@temporalio/activity';

const HEARTBEAT_MS = 1_500;

/**
 * Sends a heartbeat of the current activity every 1.5 s, until it is disposed: `using heartbeat = startHeartbeat()`. If the
 * worker crashes, the next one gets the last result of `details`.
 */
export function startHeartbeat(details: () => unknown = () => undefined): Disposable {
  heartbeat(details());
  const timer = setInterval(() => heartbeat(details()), HEARTBEAT_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
