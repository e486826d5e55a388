import { isIP } from 'node:net';
import { getCACertificates } from 'node:tls';
import { createTransport } from 'nodemailer';

/** A mail of ours: plain text to one person. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  /** Made of what the mail tells, so that a repeat carries the same `Message-ID` and can be known as one. */
  id: string;
};

/** Sends mail through the operator's server. */
export type Mailer = {
  /** Resolves once the server has taken the mail. @throws Error with a sentence of the server's or the system's */
  send(mail: Mail): Promise<void>;
  close(): void;
};

export type MailerOptions = {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  smtpUrl: string;
  /** `name@example.com` or `Name <name@example.com>`. */
  from: string;
  /** Certificates in PEM that are trusted beside the usual ones. */
  ca?: string;
};

/** What one step of the conversation may take, in milliseconds. */
const STEP_MS = 10_000;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/**
 * A mailer that keeps no connection open. With `smtp://` it changes to TLS where the server offers that; with a
 * password it insists, except on this machine, so that no password crosses a network in clear.
 */
export function createMailer({ smtpUrl, from, ca }: MailerOptions): Mailer {
  const url = new URL(smtpUrl);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const hasPassword = url.username !== '';
  const transport = createTransport({
    host,
    port: Number(url.port || PORTS[url.protocol]),
    secure: url.protocol === 'smtps:',
    requireTLS: url.protocol === 'smtp:' && hasPassword && !isThisMachine(host),
    ...(hasPassword
      ? { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
      : {}),
    ...(ca === undefined ? {} : { tls: { ca: [...getCACertificates('default'), ca] } }),
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
      // As an object: a text would be split where it has a comma.
      const recipient = { name: '', address: to };
      await transport.sendMail({
        from,
        to: recipient,
        subject,
        text,
        messageId: `<${id}@${domain}>`,
        // Automatic mail asks not to be answered by machines (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
    },
    close: () => transport.close(),
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
