import { OutboundFailure } from './failure.ts';

/** How far an attempt has got. */
export type Stage = 'lookup' | 'connection' | 'answer';

const TIMEOUT_MESSAGES: Readonly<Record<Stage, string>> = {
  lookup: 'No DNS response',
  connection: 'No connection',
  answer: 'No complete response',
};

/**
 * One signal for an attempt's time limit (failure `timeout`) and its caller's wish to give up (`aborted`); its reason
 * is an OutboundFailure. `release` must be called at the end.
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

/** For work that cannot be stopped: leaves it alone once the signal is aborted, and throws its reason. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const settle = () => signal.removeEventListener('abort', leave);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(settle);
  });
}
