import { readFileSync } from 'node:fs';
import type { Configuration } from '../src/configuration.ts';
import { createMailer, type Mailer } from '../src/mail/mailer.ts';

/** The mailer that the configuration asks for; null where it names no mail server. */
export function mailerOf({
  mail,
  outboundCaFile,
}: Pick<Configuration, 'mail' | 'outboundCaFile'>): Mailer | null {
  if (mail === null) return null;
  const trusted = outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') };
  return createMailer({ ...mail, ...trusted });
}
