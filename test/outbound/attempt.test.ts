import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { OutboundClient } from '../../src/outbound/attempt.ts';
import type { AttemptRecord } from '../../src/outbound/attempt-record.ts';
import { assertWithin } from '../api/problems.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { holdTimers } from '../support/held-timers.ts';
import { startReceiver } from '../support/receiver.ts';
import { type RawServer, respondingWith, startRawServer } from './raw-server.ts';
import { post, senders } from './sending.ts';

describe('an outgoing attempt', () => {
  const { sender, cleanUp } = senders();
  const receiver = useReceiver('each test');
  let raw: RawServer | undefined;

  afterEach(async () => {
    await cleanUp();
    await raw?.close();
    raw = undefined;
  });

  const postRaw = async (...answer: Parameters<typeof respondingWith>) => {
    raw = await startRawServer(respondingWith(...answer));
    return post(sender(), `http://127.0.0.1:${raw.port}/`);
  };

  /** Makes an attempt whose only time limit is over once the receiver has got `count` requests. */
  async function postUntil(count: number, by: OutboundClient, timeoutMs: number): Promise<AttemptRecord> {
    using timers = holdTimers(timeoutMs);
    const attempting = post(by, receiver.url, { timeoutMs });
    await receiver.receives(count);
    assert.equal(timers.count(), 1);
    timers.fire();
    return await attempting;
  }

  describe('sends', () => {
    it('the unchanged body and headers, and records the response', async () => {
      receiver.answering((_request, response) => {
        response.writeHead(201, { 'X-Kind': 'one', 'Set-Cookie': ['a=1', 'b=2'] }).end('thanks');
        return undefined;
      });
      const body = randomBytes(70_000);
      const headers = { 'X-Service-Signature': 'sha256=00', 'content-type': 'application/json' };
      const before = Date.now();
      const record = await post(sender(), `${receiver.url}/hook?a=1&b=%20`, { body, headers });

      const [request] = await receiver.receives(1);
      assert.equal(request?.method, 'POST');
      assert.equal(request.url, '/hook?a=1&b=%20');
      assert.deepEqual(request.body, body);
      assert.equal(request.headers['x-service-signature'], 'sha256=00');
      const names = request.rawHeaders.filter((_name, index) => index % 2 === 0);
      for (const name of ['X-Service-Signature', 'Content-Type', 'User-Agent'])
        assert.ok(names.includes(name), name);
      assert.equal(request.headers['content-length'], '70000');
      assert.equal(request.headers['accept-encoding'], 'identity');
      assert.equal(request.headers.host, `127.0.0.1:${receiver.port}`);

      assert.equal(record.outcome, 'succeeded');
      assert.equal(record.failure, null);
      assert.equal(record.message, null);
      assert.equal(record.address, '127.0.0.1');
      assert.equal(record.response?.status, 201);
      assert.equal(record.response.headers['x-kind'], 'one');
      assert.equal(record.response.headers['set-cookie'], 'a=1, b=2');
      assert.equal(record.response.body.toString(), 'thanks');
      assert.equal(record.response.truncated, false);
      assertWithin(record.started_at.toISOString(), before);
      assert.ok(record.duration_ms >= 0 && Number.isInteger(record.duration_ms));
      const { lookup_ms, connect_ms, tls_ms, first_byte_ms, total_ms } = record.timings;
      assert.ok(lookup_ms !== null && connect_ms !== null && first_byte_ms !== null);
      assert.equal(tls_ms, null);
      assert.ok(total_ms >= first_byte_ms);
    });

    it('consecutive requests on one connection', async () => {
      const kept = sender();
      const first = await post(kept, receiver.url);
      const second = await post(kept, receiver.url);
      assert.equal(receiver.connections(), 1);
      assert.equal(typeof first.timings.connect_ms, 'number');
      assert.equal(second.timings.connect_ms, null);
      assert.equal(second.address, '127.0.0.1');
    });

    it('concurrent requests on separate connections', async () => {
      const kept = sender();
      const records = await Promise.all(Array.from({ length: 20 }, () => post(kept, receiver.url)));
      assert.ok(records.every(({ outcome }) => outcome === 'succeeded'));
      assert.equal(new Set(receiver.requests.map(({ connection }) => connection)).size, 20);
    });

    it('a request on a new connection if the receiver closed the previous one', async () => {
      receiver.answering((_request, response) => {
        response.writeHead(200, { connection: 'close' }).end();
        return undefined;
      });
      const kept = sender();
      await post(kept, receiver.url);
      const second = await post(kept, receiver.url);
      assert.equal(second.outcome, 'succeeded');
      assert.equal(receiver.connections(), 2);
    });

    it('the request again on a new connection if a kept one is dead', async () => {
      const kept = sender();
      await post(kept, receiver.url);
      receiver.answering(({ connection }, response) => (connection === 1 ? cutOff(response) : 204));
      const body = randomBytes(70_000);
      const record = await post(kept, `${receiver.url}/hook?a=1`, { body });
      assert.equal(record.outcome, 'succeeded', record.message ?? '');
      assert.equal(record.timings.reconnected, true);
      assert.equal(typeof record.timings.connect_ms, 'number');
      const [, first, again] = receiver.requests;
      assert.deepEqual(
        [again?.url, again?.headers, again?.connection],
        [first?.url, first?.headers, 2],
        'the same request on another connection',
      );
      assert.deepEqual(again?.body, body);
      assert.equal(receiver.requests.length, 3);
    });

    it('no third request if the new connection is closed as well', async () => {
      const kept = sender();
      await post(kept, receiver.url);
      receiver.closingEarly();
      const record = await post(kept, receiver.url);
      assert.deepEqual([record.failure, record.timings.reconnected], ['connection_closed', true]);
      assert.equal(receiver.requests.length, 3);
    });

    it('no second request if a new connection is closed', async () => {
      const record = await post(sender(), receiver.closingEarly().url);
      assert.deepEqual([record.failure, record.timings.reconnected], ['connection_closed', undefined]);
      assert.equal(receiver.requests.length, 1);
    });

    for (const begun of [
      'H',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok',
    ]) {
      it(`no second request if a kept connection is closed after ${JSON.stringify(begun)}`, async () => {
        let asked = 0;
        raw = await startRawServer((socket) => {
          socket.on('data', () => {
            asked += 1;
            if (asked === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
            else socket.end(begun);
          });
        });
        const kept = sender();
        await post(kept, `http://127.0.0.1:${raw.port}`);
        const record = await post(kept, `http://127.0.0.1:${raw.port}`);
        assert.deepEqual([record.failure, record.timings.reconnected], ['connection_closed', undefined]);
        assert.equal(asked, 2);
      });
    }

    it('the second request within the time limit of the attempt', async () => {
      const kept = sender();
      await post(kept, receiver.url);
      receiver.answering(({ connection }, response) => (connection === 1 ? cutOff(response) : undefined));
      const record = await postUntil(3, kept, 300);
      assert.deepEqual([record.failure, record.timings.reconnected], ['timeout', true]);
      assert.equal(record.message, 'No complete response within 0.3 s');
      assert.equal(receiver.requests.length, 3);
    });
  });

  describe('succeeds with', () => {
    for (const status of [200, 201, 202, 204, 206, 299]) {
      it(`status ${status}`, async () => {
        const record = await post(sender(), receiver.answering(status).url);
        assert.deepEqual([record.outcome, record.response?.status], ['succeeded', status]);
      });
    }

    it('status 200 after 100 Continue and 103 Early Hints', async () => {
      const record = await postRaw(
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      );
      assert.deepEqual(
        [record.outcome, record.response?.status, record.response?.body.toString()],
        ['succeeded', 200, 'ok'],
      );
    });

    it('status 200 after 100 Continue byte by byte, twice on one connection', async () => {
      const answer =
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
      raw = await startRawServer((socket) => {
        socket.setNoDelay();
        const byteByByte = async () => {
          for (const byte of answer) {
            socket.write(byte);
            await new Promise(setImmediate);
          }
        };
        socket.on('data', () => void byteByByte());
      });
      const kept = sender();
      for (const _ of [1, 2]) {
        const record = await post(kept, `http://127.0.0.1:${raw.port}`);
        assert.deepEqual(
          [record.outcome, record.response?.body.toString()],
          ['succeeded', 'ok'],
          record.message ?? '',
        );
      }
      assert.equal(raw.connections.length, 1);
    });

    it('a response that ends with the connection', async () => {
      const record = await postRaw('HTTP/1.0 200 OK\r\n\r\nall of it', { andClose: true });
      assert.deepEqual([record.outcome, record.response?.body.toString()], ['succeeded', 'all of it']);
    });
  });

  describe('fails with', () => {
    for (const status of [400, 401, 404, 410, 429, 500, 503]) {
      it(`status ${status}, and keeps the response`, async () => {
        receiver.answering((_request, response) => {
          response.writeHead(status).end('why');
          return undefined;
        });
        const record = await post(sender(), receiver.url);
        assert.deepEqual([record.outcome, record.failure], ['failed', 'status']);
        assert.equal(record.message, `The response has status ${status}`);
        assert.equal(record.response?.body.toString(), 'why');
      });
    }

    for (const status of [301, 302, 303, 307, 308]) {
      it(`a redirect (${status}), and does not follow it`, async () => {
        const elsewhere = await startReceiver();
        receiver.answering((_request, response) => {
          response.writeHead(status, { location: elsewhere.url }).end();
          return undefined;
        });
        const record = await post(sender(), receiver.url);
        await elsewhere.staysQuiet(50);
        await elsewhere.close();
        assert.equal(record.failure, 'redirect');
        assert.equal(record.response?.headers.location, elsewhere.url);
      });
    }

    it('a hanging receiver after the time limit', async () => {
      // On a kept connection, so that the limit applies to the response alone.
      const kept = sender();
      await post(kept, receiver.url);
      receiver.hanging();
      const record = await postUntil(2, kept, 150);
      assert.equal(record.failure, 'timeout');
      assert.equal(record.message, 'No complete response within 0.15 s');
      assert.equal(record.response, null);
      assert.equal(receiver.requests.length, 2, 'an exceeded limit does not cause a second request');
    });

    it('a response that exceeds the time limit, and keeps its beginning', async () => {
      const kept = sender();
      await post(kept, receiver.url);
      const record = await post(kept, receiver.dripping().url, { timeoutMs: 800 });
      assert.equal(record.failure, 'timeout');
      assert.equal(record.response?.status, 200);
      assert.equal(record.response.truncated, true);
      assert.match(record.response.body.toString(), /^\.+$/);
    });

    it('headers that exceed the time limit', async () => {
      raw = await startRawServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const timer = setInterval(() => socket.write('X-More: 1\r\n'), 20);
        socket.on('close', () => clearInterval(timer));
      });
      const record = await post(sender(), `http://127.0.0.1:${raw.port}`, { timeoutMs: 200 });
      assert.deepEqual([record.failure, record.response], ['timeout', null]);
    });

    it('a connection closed before the headers', async () => {
      const record = await post(sender(), receiver.closingEarly().url);
      assert.deepEqual([record.failure, record.response], ['connection_closed', null]);
      assert.equal(record.message, 'The connection was closed before a response');
    });

    it('a connection closed during the body, and keeps its beginning', async () => {
      const record = await post(sender(), receiver.closingEarly('mid-body').url);
      assert.deepEqual([record.outcome, record.failure], ['failed', 'connection_closed']);
      assert.equal(record.response?.body.toString(), 'half of');
      assert.equal(record.response.truncated, true);
    });

    it('a connection closed during the headers', async () => {
      const record = await postRaw('HTTP/1.1 200 OK\r\nContent-Le', { andClose: true });
      assert.deepEqual([record.failure, record.response], ['connection_closed', null]);
    });

    const broken: ReadonlyArray<readonly [string, string]> = [
      ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['a broken status line', 'HTTP/1.1 abc\r\n\r\n'],
      ['a broken header', 'HTTP/1.1 200 OK\r\nno colon here\r\n\r\n'],
      ['two content lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
      ['broken chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
      [
        'another protocol',
        'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
      ],
      ['too many headers', `HTTP/1.1 200 OK\r\n${'X-Long: y\r\n'.repeat(20_000)}\r\n`],
    ];
    for (const [what, answer] of broken) {
      it(`an invalid response: ${what}`, async () => {
        const record = await postRaw(answer);
        assert.equal(record.failure, 'invalid_response', record.message ?? '');
      });
    }

    it('a port on which nothing listens', async () => {
      const record = await post(sender(), 'http://127.0.0.1:1');
      assert.equal(record.failure, 'connection_failed');
      assert.equal(record.message, 'Connection refused');
      assert.equal(record.address, '127.0.0.1');
    });

    for (const url of ['ftp://127.0.0.1/', 'nonsense', 'http://me:secret@127.0.0.1/', '']) {
      it(`the invalid URL "${url}"`, async () => {
        const record = await post(sender(), url);
        assert.equal(record.failure, 'invalid_request');
        assert.doesNotMatch(record.message ?? '', /secret/);
      });
    }

    it('an invalid header, whose value is not in the message', async () => {
      const record = await post(sender(), receiver.url, {
        headers: { 'X-Webhook-Secret': 'hush\r\nX-More: 1' },
      });
      assert.equal(record.failure, 'invalid_request');
      assert.doesNotMatch(JSON.stringify(record), /hush/);
      assert.equal(receiver.requests.length, 0);
    });

    it('an abort by its caller', async () => {
      const control = new AbortController();
      const attempt = post(sender(), receiver.hanging().url, { signal: control.signal });
      await receiver.receives(1);
      control.abort();
      assert.equal((await attempt).failure, 'aborted');
    });

    it('an abort by its caller before the start', async () => {
      const record = await post(sender(), receiver.url, { signal: AbortSignal.abort() });
      assert.equal(record.failure, 'aborted');
      assert.equal(receiver.requests.length, 0);
    });
  });

  describe('keeps of a response', () => {
    it('the whole body up to the size limit', async () => {
      receiver.answering((_request, response) => {
        response.end('x'.repeat(1_024));
        return undefined;
      });
      const { response } = await post(sender(), receiver.url);
      assert.deepEqual([response?.body.length, response?.truncated], [1_024, false]);
    });

    it('only the size limit, closes the connection, and succeeds by the status', async () => {
      let sent = 0;
      receiver.answering((_request, response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write('y'.repeat(65_536))) sent += 65_536;
        };
        response.on('drain', more);
        more();
        return undefined;
      });
      const record = await post(sender(), receiver.url);
      assert.deepEqual(
        [record.outcome, record.response?.body.length, record.response?.truncated],
        ['succeeded', 1_024, true],
      );
      assert.ok(sent < 50_000_000);
    });

    it('the failed status if the body does not end', async () => {
      receiver.answering((_request, response) => {
        response.writeHead(500);
        response.write('z'.repeat(5_000));
        return undefined;
      });
      const record = await post(sender(), receiver.url);
      assert.deepEqual([record.failure, record.response?.truncated], ['status', true]);
    });

    it('the compressed bytes', async () => {
      const bomb = gzipSync(Buffer.alloc(500_000));
      receiver.answering((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
        return undefined;
      });
      const { response } = await post(sender(), receiver.url);
      assert.deepEqual(response?.body, bomb.subarray(0, 1_024));
    });
  });
});

/** Closes the connection without a response. */
function cutOff(response: ServerResponse): undefined {
  response.socket?.destroy();
}
