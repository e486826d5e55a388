import { randomUUIDv7 } from 'node:crypto';
import type { Logger } from 'pino';
import { createCallbackAttempt, type CallbackAttempt } from '../src/activities/callback-attempt.ts';
import { createCallbacksAtOnce, type CallbacksAtOnce } from '../src/activities/callbacks-at-once.ts';
import type { Configuration } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { callbackSecretPlace, type Sealing } from '../src/security/sealing.ts';
import { measureCallbacks } from '../src/telemetry/measures.ts';
import { senderOf } from './sender.ts';
import type { Telemetry } from './telemetry.ts';
import { outgoingTraces } from './tracing.ts';

/** What a process that ends runs sends their callbacks with. */
export type Callbacks = {
  attempt: CallbackAttempt;
  callBack: CallbacksAtOnce['callBack'];
  /** Lets attempts under way end, or breaks them off after a moment. */
  close(): Promise<void>;
};

type Needs = {
  configuration: Configuration;
  database: Database;
  sealing: Sealing;
  telemetry: Telemetry;
  log: Logger;
};

/** @throws where the certificates or the proxy of the configuration can't be read */
export function openCallbacks({ configuration, database, sealing, telemetry, log }: Needs): Callbacks {
  const sender = senderOf(configuration);
  const measures = telemetry.registry && measureCallbacks(telemetry.registry);
  const attempt = createCallbackAttempt({
    database,
    sender,
    openSecret: (sealed, executionId) => sealing.open(sealed, callbackSecretPlace(executionId)),
    newId: randomUUIDv7,
    clock: () => new Date(),
    traces: outgoingTraces(telemetry.tracing),
    onAttempt(made, executionId) {
      measures?.onCallbackAttempt(made);
      if (made.outcome === 'succeeded') return;
      const { failure, response } = made;
      log.info(
        { execution_id: executionId, failure, response_status: response?.status ?? null },
        'an attempt of a callback failed',
      );
    },
  });
  const atOnce = createCallbacksAtOnce({ database, attempt });
  return {
    attempt,
    callBack: atOnce.callBack,
    async close() {
      await atOnce.close();
      await sender.close();
    },
  };
}
