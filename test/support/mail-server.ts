import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { WAIT_TIMEOUT_MS } from './eventually.ts';

/** A received mail. */
export type ReceivedMail = {
  from: string;
  to: readonly string[];
  /** Headers and body as received, with CRLF line ends. */
  raw: string;
  /** Returns the unfolded value of a header, or null. */
  header(name: string): string | null;
  /** The body without its transfer encoding. */
  text: string;
  /** Whether it arrived over TLS, and for which user. */
  secure: boolean;
  user: string | null;
};

/** A real SMTP server whose responses are defined by a test. */
export type MailServer = {
  port: number;
  /** All accepted mails, oldest first. */
  mails: readonly ReceivedMail[];
  /** Rejects mail to these addresses with this code until another method is called. */
  refusing(addresses: readonly string[], code?: number): MailServer;
  /** Rejects every mail after its last byte. */
  failingLate(): MailServer;
  takingAll(): MailServer;
  receives(count: number, withinMs?: number): Promise<readonly ReceivedMail[]>;
  close(): Promise<void>;
};

export type MailServerOptions = {
  tls?: { cert: string; key: string };
  /** Uses TLS from the first byte. */
  secure?: boolean;
  user?: { name: string; password: string };
  port?: number;
};

export async function startMailServer({
  tls,
  secure,
  user,
  port,
}: MailServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const arrivals = new EventEmitter();
  let refused: { addresses: readonly string[]; code: number } = { addresses: [], code: 550 };
  let isFailing = false;
  const options: SMTPServerOptions = {
    secure: secure ?? false,
    ...tls,
    authOptional: user === undefined,
    allowInsecureAuth: tls === undefined,
    disabledCommands: [...(tls === undefined ? ['STARTTLS'] : []), ...(user === undefined ? ['AUTH'] : [])],
    onAuth({ username, password }, _session, answer) {
      if (username === user?.name && password === user?.password) return answer(null, { user: username });
      return answer(new Error('wrong name or password'));
    },
    onRcptTo({ address }, _session, answer) {
      if (!refused.addresses.includes(address)) return answer();
      return answer(Object.assign(new Error('no such mailbox'), { responseCode: refused.code }));
    },
    onData(stream, session, answer) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (isFailing) return answer(Object.assign(new Error('the disk is full'), { responseCode: 452 }));
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          ...partsOf(Buffer.concat(chunks).toString('utf8')),
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: session.user ?? null,
        });
        answer();
        arrivals.emit('mail');
      });
    },
  };
  const server = new SMTPServer(options);
  server.on('error', () => {}); // a client that disconnects early is not an error of the server
  server.listen(port ?? 0, '127.0.0.1');
  await once(server.server, 'listening');

  const mailServer: MailServer = {
    port: (server.server.address() as AddressInfo).port,
    mails,
    refusing(addresses, code = 550) {
      refused = { addresses, code };
      return mailServer;
    },
    failingLate() {
      isFailing = true;
      return mailServer;
    },
    takingAll() {
      refused = { addresses: [], code: 550 };
      isFailing = false;
      return mailServer;
    },
    async receives(count, withinMs = WAIT_TIMEOUT_MS) {
      const signal = AbortSignal.timeout(withinMs);
      while (mails.length < count) {
        await once(arrivals, 'mail', { signal }).catch(() => {
          throw new Error(`${mails.length} of ${count} mails arrived within ${withinMs} ms`);
        });
      }
      return mails;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  return mailServer;
}

function partsOf(raw: string): Pick<ReceivedMail, 'raw' | 'header' | 'text'> {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, end).replaceAll(/\r\n[ \t]+/g, ' ');
  const header = (name: string) =>
    new RegExp(`^${name}: *(.*)$`, 'im').exec(head.replaceAll('\r', ''))?.[1] ?? null;
  const body = raw.slice(end + 4);
  const encoding = header('Content-Transfer-Encoding')?.toLowerCase();
  return { raw, header, text: decoded(body, encoding).replaceAll('\r\n', '\n') };
}

function decoded(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
