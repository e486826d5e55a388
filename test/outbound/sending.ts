import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import {
  createOutboundClient,
  type OutboundClient,
  type OutboundClientOptions,
} from '../../src/outbound/attempt.ts';
import type { AttemptRecord, AttemptRequest } from '../../src/outbound/attempt-record.ts';

/** Loopback allowed, since receivers of tests live there. */
export const localGuard = createAddressGuard(['127.0.0.0/8', '::1/128']);

/** A sender with what tests need, and attempts with a small body and limits. `cleanUp` closes all of them. */
export function senders() {
  const made: OutboundClient[] = [];
  return {
    sender(options: Partial<OutboundClientOptions> = {}): OutboundClient {
      const sender = createOutboundClient({ guard: localGuard, ...options });
      made.push(sender);
      return sender;
    },
    cleanUp: async () => {
      await Promise.all(made.splice(0).map((sender) => sender.close()));
    },
  };
}

export function post(
  sender: OutboundClient,
  url: string,
  wish: Partial<AttemptRequest> = {},
): Promise<AttemptRecord> {
  const body = Buffer.from('{"hello":"there"}');
  const headers = { 'content-type': 'application/json' };
  return sender.attempt({ url, headers, body, timeoutMs: 30_000, maxResponseBytes: 1_024, ...wish });
}
