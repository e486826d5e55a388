import { heartbeat } from '@temporalio/activity';

const BEAT_MS = 1_500;

/** Tells Temporal every 1.5 s that the current activity's worker lives; the answer ends it. */
export function keepBeating(): () => void {
  heartbeat();
  const timer = setInterval(() => heartbeat(), BEAT_MS);
  return () => clearInterval(timer);
}
