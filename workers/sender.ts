import { readFileSync } from 'node:fs';
import type { Configuration } from '../src/configuration.ts';
import { createAddressGuard } from '../src/outbound/address-guard.ts';
import { createSender, type Sender } from '../src/outbound/attempt.ts';

/** The way out of a worker, as the configuration allows it. @throws where the certificates or the proxy can't be read */
export function senderOf({ outboundAllow, outboundCaFile, outboundProxy }: Configuration): Sender {
  return createSender({
    guard: createAddressGuard(outboundAllow),
    ...(outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') }),
    ...(outboundProxy === null ? {} : { proxy: outboundProxy }),
  });
}
