import assert from 'node:assert/strict';
import { storableBody, unsentRecord } from '../../src/outbound/attempt-record.ts';
import {
  connectionFailure,
  exchangeFailure,
  lookupFailure,
  OutboundFailure,
  statusFailure,
  tlsFailure,
} from '../../src/outbound/failure.ts';
import { createTimeLimit, type Stage } from '../../src/outbound/time-limit.ts';

const errorOf = (code: string, message = 'raw') => Object.assign(new Error(message), { code });
const described = (failure: OutboundFailure | null) => failure && [failure.kind, failure.message];

describe('the failure of an attempt', () => {
  for (const [what, of, kind, sentences] of [
    [
      'a lookup',
      lookupFailure,
      'lookup_failed',
      {
        ENOTFOUND: 'The host name has no address',
        ENODATA: 'The host name has no address',
        ETIMEOUT: 'DNS lookup failed (ETIMEOUT)',
        '': 'DNS lookup failed',
      },
    ],
    [
      'a connection',
      connectionFailure,
      'connection_failed',
      {
        ECONNREFUSED: 'Connection refused',
        ECONNRESET: 'The connection was reset during the TCP handshake',
        EHOSTUNREACH: 'The address is unreachable',
        ENETUNREACH: 'The network of the address is unreachable',
        EADDRNOTAVAIL: 'This machine has no route to the address',
        ETIMEDOUT: 'The address did not respond',
        EOTHER: 'Connection failed (EOTHER)',
        '': 'Connection failed',
      },
    ],
    [
      'a TLS handshake',
      tlsFailure,
      'tls_failed',
      {
        ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host',
        CERT_HAS_EXPIRED: 'The certificate has expired',
        CERT_NOT_YET_VALID: 'The certificate is not valid yet',
        CERT_REVOKED: 'The certificate has been revoked',
        DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed',
        SELF_SIGNED_CERT_IN_CHAIN: 'The certificate authority is not trusted',
        UNABLE_TO_GET_ISSUER_CERT: 'The certificate authority is not trusted',
        UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'The certificate authority is not trusted',
        UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate authority is not trusted',
        ECONNRESET: 'The connection was closed during the TLS handshake',
        EPROTO: 'The TLS handshake failed (EPROTO)',
        '': 'The TLS handshake failed',
      },
    ],
  ] as const) {
    it(`in ${what} is named by the code of the error`, () => {
      for (const [code, sentence] of Object.entries(sentences))
        assert.deepEqual(described(of(errorOf(code))), [kind, sentence], code);
      for (const error of [undefined, 'ECONNRESET', { code: 'ECONNRESET' }, errorOf(7 as never)])
        assert.deepEqual(described(of(error)), [kind, sentences[''] as string]);
    });
  }

  it('in an exchange says whether the connection was closed, and when, or what is wrong with the response', () => {
    const closed = (when: string) => ['connection_closed', `The connection was closed ${when}`];
    const early = closed('before a response');
    const late = closed('before the response was complete');
    const same = (expected: string[]) => [expected, expected];
    const lengths = ['invalid_response', 'The response has contradictory lengths'];
    for (const [error, [before, during]] of [
      ...['UND_ERR_SOCKET', 'UND_ERR_INFO', 'ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT'].map(
        (code) => [errorOf(code), [early, late]] as const,
      ),
      [errorOf('HPE_INVALID_EOF_STATE'), [early, late]],
      [errorOf('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'), [lengths, late]],
      [errorOf('UND_ERR_INVALID_ARG'), same(['invalid_request', 'A header is not valid in an HTTP request'])],
      [errorOf('UND_ERR_HEADERS_OVERFLOW'), same(['invalid_response', 'The response headers are too large'])],
      [
        errorOf('UND_ERR_SOCKET', 'bad upgrade'),
        same(['invalid_response', 'The response switches to another protocol']),
      ],
      [
        errorOf('HPE_INVALID_CONSTANT'),
        same(['invalid_response', 'The response is not valid HTTP (HPE_INVALID_CONSTANT)']),
      ],
      [new Error('unknown'), same(['invalid_response', 'The response is not valid HTTP'])],
      [
        new OutboundFailure('aborted', 'The attempt was aborted'),
        same(['aborted', 'The attempt was aborted']),
      ],
    ] as const) {
      assert.deepEqual(described(exchangeFailure(error, false)), before);
      assert.deepEqual(described(exchangeFailure(error, true)), during);
    }
  });

  it('by its status is a redirect or another status than 200 to 299', () => {
    for (const status of [200, 299]) assert.equal(statusFailure(status), null);
    for (const status of [300, 399])
      assert.deepEqual(described(statusFailure(status)), [
        'redirect',
        `The response is a redirect (${status}) and is not followed`,
      ]);
    for (const status of [199, 400, 599])
      assert.deepEqual(described(statusFailure(status)), ['status', `The response has status ${status}`]);
  });

  it('by its time limit names the stage', async () => {
    for (const [stage, message] of [
      ['lookup', 'No DNS response within 0.001 s'],
      ['connection', 'No connection within 0.001 s'],
      ['answer', 'No complete response within 0.001 s'],
    ] as const) {
      let current: Stage = 'lookup';
      const { signal } = createTimeLimit({ timeoutMs: 1 }, () => current);
      current = stage;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      assert.deepEqual(described(signal.reason), ['timeout', message]);
    }
  });

  it('before a request has no response and took no time', () => {
    const at = new Date('2026-01-31T12:00:00.000Z');
    assert.deepEqual(unsentRecord(new OutboundFailure('secret_unreadable', 'why'), at), {
      outcome: 'failed',
      failure: 'secret_unreadable',
      message: 'why',
      address: null,
      response: null,
      timings: { lookup_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 0 },
      started_at: at,
      duration_ms: 0,
    });
  });
});

describe('the stored body of a response', () => {
  it('is its text without NUL, or nothing', () => {
    const response = { status: 200, headers: {}, body: Buffer.from('a\u0000ü\u0000'), truncated: false };
    assert.equal(storableBody(response), 'a\uFFFDü\uFFFD');
    assert.equal(storableBody({ ...response, body: Buffer.alloc(0) }), '');
    assert.equal(storableBody(null), null);
  });
});
