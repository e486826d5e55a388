import { randomUUIDv7 } from 'node:crypto';
import {
  createCallbackAttempt,
  type CallbackAttempt,
  type CallbackDependencies,
} from '../activities/callback-attempt.ts';
import { createImmediateCallbacks, type ImmediateCallbacks } from '../activities/immediate-callbacks.ts';
import { callbackSecretContext, type Sealing } from '../security/sealing.ts';
import { createCallbackMetrics } from '../telemetry/event-metrics.ts';
import { outboundClientOf } from './outgoing.ts';
import type { Foundation } from './foundation.ts';
import { outgoingTraces } from './tracing.ts';

/** Sends the callbacks of runs that ended in this process. */
export type Callbacks = {
  /** For everything else that is sent like a callback. */
  dependencies: CallbackDependencies;
  attempt: CallbackAttempt;
  callBack: ImmediateCallbacks['attemptNow'];
};

/** Opens the client that sends callbacks. Closing waits briefly for attempts in progress, then aborts them. */
export function openCallbacks(
  closing: AsyncDisposableStack,
  { configuration, database, telemetry, log }: Foundation,
  sealing: Sealing,
): Callbacks {
  const sender = outboundClientOf(configuration);
  closing.defer(() => sender.close());
  const metrics = telemetry.registry && createCallbackMetrics(telemetry.registry);
  const dependencies: CallbackDependencies = {
    database,
    sender,
    openSecret: (sealed, executionId) => sealing.open(sealed, callbackSecretContext(executionId)),
    newId: randomUUIDv7,
    clock: () => new Date(),
    traces: outgoingTraces(telemetry.tracing),
    onAttempt(made, executionId) {
      metrics?.onCallbackAttempt(made);
      if (made.outcome === 'succeeded') return;
      const { failure, response } = made;
      log.info(
        { execution_id: executionId, failure, response_status: response?.status ?? null },
        'callback attempt failed',
      );
    },
  };
  const attempt = createCallbackAttempt(dependencies);
  const atOnce = createImmediateCallbacks({ database, attempt });
  closing.defer(() => atOnce.close());
  return { dependencies, attempt, callBack: atOnce.attemptNow };
}
