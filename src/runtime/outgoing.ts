import { readFileSync } from 'node:fs';
import type { Mailer } from '../mail/mailer.ts';
import { createAddressGuard } from '../outbound/address-guard.ts';
import { createOutboundClient, type OutboundClient } from '../outbound/attempt.ts';
import { createLimitedFetch } from '../outbound/limited-fetch.ts';
import type { ExternalProvider } from '../security/tokens.ts';
import type { Configuration } from './configuration.ts';

/** The settings of outgoing requests. */
export type OutboundSettings = Pick<Configuration, 'outboundAllow' | 'outboundCaFile' | 'outboundProxy'>;

/** Returns the client that sends callbacks and deliveries. @throws if the certificates or the proxy cannot be read */
export function outboundClientOf(settings: OutboundSettings): OutboundClient {
  return createOutboundClient(outboundOptions(settings));
}

/** Returns the configured mailer; null without a mail server. @throws if the certificates cannot be read */
export async function mailerOf({
  mail,
  outboundCaFile,
}: Pick<Configuration, 'mail' | 'outboundCaFile'>): Promise<Mailer | null> {
  if (mail === null) return null;
  const { createMailer } = await import('../mail/mailer.ts');
  return createMailer({ ...mail, ...trustedBy(outboundCaFile) });
}

/** Returns the provider whose JWTs are accepted, with limited responses; null if there is none. */
export function externalProviderOf({
  identityProvider,
}: Pick<Configuration, 'identityProvider'>): ExternalProvider | null {
  return identityProvider && { ...identityProvider, fetch: createLimitedFetch().fetch };
}

/** Returns the guard, certificates and proxy of outgoing requests. @throws if the certificates cannot be read */
export function outboundOptions({ outboundAllow, outboundCaFile, outboundProxy }: OutboundSettings) {
  return {
    guard: createAddressGuard(outboundAllow),
    ...trustedBy(outboundCaFile),
    ...(outboundProxy === null ? {} : { proxy: outboundProxy }),
  };
}

function trustedBy(caFile: string | null): { ca?: string } {
  return caFile === null ? {} : { ca: readFileSync(caFile, 'utf8') };
}
