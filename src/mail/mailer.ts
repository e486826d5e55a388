import { isIP } from 'node:net';
import { getCACertificates } from 'node:tls';
import { createTransport } from 'nodemailer';
import { within } from '../domain/common/within.ts';

/** A mail: plain text to one person. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  /** Derived from the content, so that a repeat has the same `Message-ID` and can be recognized. */
  id: string;
};

/** Sends mail through the operator's server. */
export type Mailer = {
  /** Resolves when the server has accepted the mail. @throws Error with a sentence from the server or the system */
  send(mail: Mail): Promise<void>;
  close(): void;
};

export type MailerOptions = {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  smtpUrl: string;
  /** `name@example.com` or `Name <name@example.com>`. */
  from: string;
  /** Certificates in PEM that are trusted in addition to the system's. */
  ca?: string;
  /** See {@link SEND_MS}. */
  sendMs?: number;
};

/** Timeout of each step of the SMTP session, in milliseconds. */
const STEP_MS = 10_000;
/**
 * Timeout of one mail, in milliseconds. Shorter than PostgreSQL's limit for a transaction without a statement: the caller may hold
 * one that records the mail as sent.
 */
const SEND_MS = 45_000;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/**
 * Creates a mailer that keeps no connection open. With `smtp://` it switches to TLS, and sends nothing if the server does
 * not support it, except on this machine: invitations and passwords do not cross a network in clear text. With
 * `?tls=optional` in the URL and without a password it also sends without TLS. Where it would send without TLS, it uses TLS with
 * any certificate.
 */
export function createMailer({ smtpUrl, from, ca, sendMs = SEND_MS }: MailerOptions): Mailer {
  const url = new URL(smtpUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const hasPassword = url.username !== '';
  const isOptional = url.searchParams.get('tls') === 'optional';
  const needsTls = url.protocol === 'smtps:' || ((hasPassword || !isOptional) && !isThisMachine(host));
  const transport = createTransport({
    host,
    port: Number(url.port || PORTS[url.protocol]),
    secure: url.protocol === 'smtps:',
    requireTLS: url.protocol === 'smtp:' && needsTls,
    ...(hasPassword
      ? { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
      : {}),
    tls: {
      rejectUnauthorized: needsTls,
      ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }),
    },
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = /@([^@>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
  return {
    async send({ to, subject, text, id }) {
      // An object, because a string would be split at a comma.
      const recipient = { name: '', address: to };
      const sending = transport.sendMail({
        from,
        to: recipient,
        subject,
        text,
        messageId: `<${id}@${domain}>`,
        // Automatic mail asks not to be answered by machines (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      // A late mail may still be accepted; its repeat has the same `Message-ID`.
      if ((await within(sendMs, sending)) === 'late')
        throw new Error(`The mail server did not accept the mail within ${sendMs / 1_000} s`);
    },
    close: () => transport.close(),
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
