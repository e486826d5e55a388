import { readFileSync } from 'node:fs';
import type { Configuration } from './configuration.ts';
import { createMailer, type Mailer } from '../mail/mailer.ts';
import { createAddressGuard } from '../outbound/address-guard.ts';
import { createSender, type Sender } from '../outbound/attempt.ts';

/** The way out of a worker, as the configuration allows it. @throws where the certificates or the proxy can't be read */
export function senderOf({ outboundAllow, outboundCaFile, outboundProxy }: Configuration): Sender {
  return createSender({
    guard: createAddressGuard(outboundAllow),
    ...(outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') }),
    ...(outboundProxy === null ? {} : { proxy: outboundProxy }),
  });
}

/** The mailer that the configuration asks for; null where it names no mail server. */
export function mailerOf({
  mail,
  outboundCaFile,
}: Pick<Configuration, 'mail' | 'outboundCaFile'>): Mailer | null {
  if (mail === null) return null;
  const trusted = outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') };
  return createMailer({ ...mail, ...trusted });
}
