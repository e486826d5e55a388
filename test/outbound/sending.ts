import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import {
  createOutboundClient,
  type OutboundClient,
  type OutboundClientOptions,
} from '../../src/outbound/attempt.ts';
import {
  requestHeaders,
  type AttemptRecord,
  type AttemptRequest,
} from '../../src/outbound/attempt-record.ts';

/** Allows loopback, where the receivers of tests listen. */
export const localGuard = createAddressGuard(['127.0.0.0/8', '::1/128']);

/** Creates senders with defaults for tests; `cleanUp` closes them. */
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
  { headers = { 'content-type': 'application/json' }, ...request }: Partial<AttemptRequest> = {},
): Promise<AttemptRecord> {
  return sender.attempt({
    url,
    headers: requestHeaders(headers),
    body: Buffer.from('{"hello":"there"}'),
    timeoutMs: 30_000,
    maxResponseBytes: 1_024,
    ...request,
  });
}
