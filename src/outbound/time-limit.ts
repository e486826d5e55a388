import { OutboundFailure } from './failure.ts';

/** The current stage of an attempt. */
export type Stage = 'lookup' | 'connection' | 'answer';

const TIMEOUT_MESSAGES: Readonly<Record<Stage, string>> = {
  lookup: 'No DNS response',
  connection: 'No connection',
  answer: 'No complete response',
};

/**
 * Returns one signal for the time limit of an attempt (failure `timeout`) and its caller's signal (`aborted`). Its
 * reason is an OutboundFailure. Call `release` at the end.
 */
export function createTimeLimit(
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
  stage: () => Stage,
): { signal: AbortSignal; release(): void } {
  const control = new AbortController();
  const timer = setTimeout(() => {
    control.abort(
      new OutboundFailure('timeout', `${TIMEOUT_MESSAGES[stage()]} within ${timeoutMs / 1_000} s`),
    );
  }, timeoutMs);
  const giveUp = () => control.abort(new OutboundFailure('aborted', 'The attempt was aborted'));
  if (signal?.aborted) giveUp();
  else signal?.addEventListener('abort', giveUp, { once: true });
  return {
    signal: control.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    },
  };
}

/**
 * Rejects with the signal's reason when it is aborted. For work that cannot be stopped; it continues in the
 * background.
 */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const settle = () => signal.removeEventListener('abort', leave);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(settle);
  });
}
