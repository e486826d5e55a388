import { CALLBACK_RETRIES, RUN_PAUSES } from '../../domain/common/limits.ts';
import { createRateLimiter, type RateLimiter } from '../../domain/common/rate-limiter.ts';
import {
  createStreamLimit,
  createWaitLimit,
  type StreamLimit,
  type WaitLimit,
} from '../http/open-streams.ts';

/** The limits of this process on runs, which hold for all protocols together. */
export type TaskLimits = {
  /** By run: requests to pause or continue it. */
  pauses: RateLimiter;
  /** By run: retries of its callback. */
  callbackRetries: RateLimiter;
  /** By credential: open streams of events. */
  streams: StreamLimit;
  /** By credential: requests that wait for a change. */
  waits: WaitLimit;
};

export function createTaskLimits(deps: { clock: () => Date }): TaskLimits {
  const clock = () => deps.clock();
  return {
    pauses: createRateLimiter({ name: 'run', ...RUN_PAUSES }, clock),
    callbackRetries: createRateLimiter({ name: 'callback', ...CALLBACK_RETRIES }, clock),
    streams: createStreamLimit(),
    waits: createWaitLimit(),
  };
}
