import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createMailer, type Mailer } from '../../src/mail/mailer.ts';
import { oneLine } from '../../src/mail/one-line.ts';
import { webhookDisabledMail } from '../../src/mail/webhook-disabled.ts';
import { startMailServer, type MailServer, type MailServerOptions } from '../support/mail-server.ts';
import { services } from '../support/services.ts';

const FROM = 'Baton <baton@example.com>';

describe('the mailer', () => {
  let server: MailServer;
  let mailer: Mailer;
  afterEach(async () => {
    mailer.close();
    await server.close();
  });

  /** Starts a mail server, and a mailer with this scheme and host. */
  const begin = async (options: MailServerOptions, scheme = 'smtp://', host = '127.0.0.1') => {
    server = await startMailServer(options);
    const { ca } = services().tls;
    mailer = createMailer({ smtpUrl: `${scheme}${host}:${server.port}`, from: FROM, ca });
  };
  const send = (members = {}) =>
    mailer.send({ to: 'ann@example.com', subject: 'A subject', text: 'A text\n', id: 'some-id', ...members });

  it('sends plain text from the configured address, with the same Message-ID when repeated', async () => {
    await begin({});
    await send({ subject: 'Grüße', text: 'Zeile eins: ✓\n.\nZeile drei\n' });
    await send();
    const [first, second] = server.mails;
    assert.deepEqual([first?.from, first?.to], ['baton@example.com', ['ann@example.com']]);
    assert.equal(first?.header('From'), FROM);
    assert.equal(first?.header('Message-ID'), '<some-id@example.com>');
    assert.equal(second?.header('Message-ID'), '<some-id@example.com>');
    assert.equal(first?.header('Auto-Submitted'), 'auto-generated');
    assert.match(first?.header('Content-Type') ?? '', /^text\/plain; charset=utf-8/);
    assert.equal(first?.text.trimEnd(), 'Zeile eins: ✓\n.\nZeile drei');
    assert.match(first?.header('Subject') ?? '', /^=\?UTF-8\?/);
  });

  it('uses STARTTLS if the server offers it, and authenticates', async () => {
    const { cert, key } = services().tls;
    await begin(
      { tls: { cert, key }, user: { name: 'me@x', password: 'p:w/d' } },
      'smtp://me%40x:p%3Aw%2Fd@',
      'localhost',
    );
    await send();
    assert.deepEqual([server.mails[0]?.secure, server.mails[0]?.user], [true, 'me@x']);
  });

  it('uses TLS from the first byte with smtps', async () => {
    const { cert, key } = services().tls;
    await begin({ tls: { cert, key }, secure: true }, 'smtps://', 'localhost');
    await send();
    assert.equal(server.mails[0]?.secure, true);
  });

  it('does not send to a server with an untrusted certificate', async () => {
    const { cert, key } = services().tls;
    await begin({ tls: { cert, key }, secure: true });
    mailer = createMailer({ smtpUrl: `smtps://localhost:${server.port}`, from: FROM });
    await assert.rejects(send(), /certificate/);
    assert.deepEqual(server.mails, []);
  });

  it('reports the response of the server if a mail is rejected', async () => {
    await begin({});
    server.refusing(['ann@example.com']);
    await assert.rejects(send(), /550 no such mailbox/);
    await send({ to: 'bob@example.com' });
    server.failingLate();
    await assert.rejects(send({ to: 'bob@example.com' }), /452 the disk is full/);
    assert.equal(server.mails.length, 1);
  });

  it('gives up on a server that responds slowly but never stops', async () => {
    await begin({});
    const dripping = createServer((socket) => {
      const timer = setInterval(() => socket.write('220-still greeting\r\n'), 50);
      socket.on('error', () => {}).on('close', () => clearInterval(timer));
    });
    dripping.listen(0, '127.0.0.1');
    await once(dripping, 'listening');
    const { port } = dripping.address() as AddressInfo;
    mailer = createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from: FROM, sendMs: 400 });
    await assert.rejects(send(), { message: 'The mail server did not accept the mail within 0.4 s' });
    dripping.close();
  });

  it('fails with a wrong password, and does not include it in the error', async () => {
    await begin({ user: { name: 'me', password: 'right' } }, 'smtp://me:terribly-wrong@');
    await assert.rejects(send(), (error: Error) => {
      assert.match(error.message, /535/);
      assert.doesNotMatch(error.message, /terribly-wrong/);
      return true;
    });
  });

  it('sends no password without TLS to another machine', async () => {
    // The mailer treats this address as another machine, but it leads to this one.
    await begin({ user: { name: 'me', password: 'right' } }, 'smtp://me:right@', '[::ffff:127.0.0.1]');
    await assert.rejects(send(), /STARTTLS/);
    assert.deepEqual(server.mails, []);
  });

  it('sends nothing without TLS to another machine, unless the URL allows it', async () => {
    const elsewhere = '[::ffff:127.0.0.1]';
    await begin({}, 'smtp://', elsewhere);
    await assert.rejects(send(), /STARTTLS/);
    assert.deepEqual(server.mails, []);
    mailer.close();
    mailer = createMailer({ smtpUrl: `smtp://${elsewhere}:${server.port}?tls=optional`, from: FROM });
    await send();
    assert.equal(server.mails.length, 1);
  });

  it('accepts any certificate where it would send without TLS, and only there', async () => {
    const { cert, key } = services().tls;
    await begin({ tls: { cert, key }, user: { name: 'me', password: 'right' } }, 'smtp://me:right@');
    const elsewhere = '[::ffff:127.0.0.1]';
    const sendTo = (place: string, query = '') => {
      mailer = createMailer({ smtpUrl: `smtp://${place}:${server.port}${query}`, from: FROM });
      return send();
    };
    await sendTo('me:right@localhost');
    assert.equal(server.mails[0]?.secure, true);
    await assert.rejects(sendTo(`me:right@${elsewhere}`), /certificate/);
    await assert.rejects(sendTo(`me:right@${elsewhere}`, '?tls=optional'), /certificate/);
    await server.close();
    server = await startMailServer({ tls: { cert, key } });
    await assert.rejects(sendTo(elsewhere), /certificate/);
    await sendTo(elsewhere, '?tls=optional');
    assert.equal(server.mails[0]?.secure, true);
  });

  it('sends to one recipient if the address contains a comma', async () => {
    await begin({});
    await send({ to: '"a,b"@example.com' });
    assert.deepEqual(server.mails[0]?.to.length, 1);
    assert.ok(!server.mails[0]?.to.includes('b"@example.com'));
  });
});

describe('the mail about a disabled webhook', () => {
  const mail = (members = {}) =>
    webhookDisabledMail(
      {
        webhookId: '0192-id',
        name: 'Orders',
        reason: '10 attempts in a row failed. Last failure: The response has status 500',
        disabledAt: new Date('2026-01-31T12:34:56.789Z'),
        workspace: 'Acme',
        person: 'Ann',
        ...members,
      },
      'https://baton.example.com',
    );

  it('contains the webhook, time, reason, held deliveries and a link', () => {
    const { subject, text } = mail();
    assert.equal(subject, 'Webhook Orders was disabled');
    for (const part of [
      'Hello Ann,',
      'webhook "Orders" of the workspace "Acme" was disabled at 2026-01-31 12:34 UTC',
      'Last failure: The response has status 500.',
      'are held',
      'https://baton.example.com/settings/integrations/webhooks/0192-id\n',
    ]) {
      assert.ok(text.includes(part), part);
    }
  });

  it('does not allow names to add lines or headers', () => {
    const { subject, text } = mail({
      name: 'A\r\nBcc: evil@example.com\u2028x',
      workspace: 'W\n\nClick here',
    });
    assert.equal(subject, 'Webhook A Bcc: evil@example.com x was disabled');
    assert.ok(!/[\r\u2028]/.test(text));
    assert.ok(!text.includes('\nClick here'));
  });

  it('does not cut a name within a character', () => {
    assert.equal(oneLine('ab😀', 3), 'ab');
  });
});
