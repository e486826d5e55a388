import assert from 'node:assert/strict';
import {
  fromStoredHeaders,
  fromStoredTimings,
  toStoredHeaders,
  toStoredTimings,
} from '../../src/domain/webhooks/stored-attempt.ts';
import { requestHeaders } from '../../src/outbound/attempt-record.ts';
import { webhookHeaders, type Signing } from '../../src/outbound/webhook-request.ts';

const TIMESTAMP = new Date('2026-01-31T11:00:00.007Z');
const OF = { deliveryId: 'd1', event: 'issue.created', timestamp: TIMESTAMP };
const USUAL = {
  accept: '*/*',
  'accept-encoding': 'identity',
  'user-agent': 'Baton',
  'content-type': 'application/json',
  'x-service-event': 'issue.created',
  'x-service-delivery': 'd1',
  'x-service-timestamp': '2026-01-31T11:00:00.007Z',
};
const HEX = 'f7ba762d305f0552415f36e1e9e6aaa30add92d8697d98948503167628f9b8fd';
const BASE64 = '97p2LTBfBVJBXzbh6eaqowrdkthpfZiUhQMWdij5uP0=';

describe('the headers of an attempt', () => {
  it('are stored without those that every request has, with the signature in base64', () => {
    const signed = { ...USUAL, 'x-service-signature': `sha256=${HEX}` };
    assert.deepEqual(toStoredHeaders(USUAL, OF), { ':usual': '' });
    assert.deepEqual(toStoredHeaders(signed, OF), { ':usual': BASE64 });
    assert.deepEqual(toStoredHeaders({ ...signed, traceparent: 'a trace' }, OF), {
      ':usual': BASE64,
      traceparent: 'a trace',
    });
  });

  it('are stored completely if one of the usual ones is missing or different', () => {
    assert.deepEqual(toStoredHeaders({}, OF), {});
    for (const name of Object.keys(USUAL)) {
      const headers: Record<string, string> = {
        ...USUAL,
        'x-service-signature': `sha256=${HEX}`,
        [name]: 'other',
      };
      assert.deepEqual(toStoredHeaders(headers, OF), headers, name);
      const { [name]: _, ...less } = headers;
      assert.deepEqual(toStoredHeaders(less, OF), less, name);
    }
  });

  it('keep a signature of another form as it is', () => {
    for (const signature of [
      `sha256=${HEX}00`,
      `v1,sha256=${HEX}`,
      `sha256=${HEX.toUpperCase()}`,
      `sha512=${HEX}`,
      '********',
      '',
    ]) {
      const headers = { ...USUAL, 'x-service-signature': signature };
      const stored = toStoredHeaders(headers, OF);
      assert.deepEqual(stored, { ':usual': '', 'x-service-signature': signature });
      assert.deepEqual(fromStoredHeaders(stored, OF), headers);
    }
  });

  it('come back the same, in the order in which they were sent, for every kind of signature', () => {
    const body = Buffer.from('the payload');
    const message = { ...OF, body };
    const flags = [false, true];
    for (const secret of [null, 'a secret'])
      for (const previousSecret of [null, 'an older secret'])
        for (const includeSecretHeader of flags)
          for (const standardWebhooks of flags) {
            const signing: Signing = { secret, previousSecret, includeSecretHeader, standardWebhooks };
            const sent = requestHeaders({
              ...webhookHeaders(message, signing, new Date()),
              traceparent: 'x',
            });
            const stored = toStoredHeaders(sent, OF);
            assert.ok(':usual' in stored, 'the usual headers are those of today');
            const back = fromStoredHeaders(JSON.parse(JSON.stringify(stored)), OF);
            assert.deepEqual(Object.entries(back), Object.entries(sent));
          }
  });

  it('of previous versions are complete', () => {
    const headers = { ...USUAL, 'x-service-event': 'of then' };
    assert.deepEqual(fromStoredHeaders(headers, OF), headers);
    assert.deepEqual(fromStoredHeaders({}, OF), {});
  });

  it('lack the time of the event after the event was deleted', () => {
    const { 'x-service-timestamp': _, ...rest } = USUAL;
    assert.deepEqual(fromStoredHeaders({ ':usual': '' }, { ...OF, timestamp: null }), rest);
  });
});

describe('the timings of an attempt', () => {
  const timings = { lookup_ms: 1.6, connect_ms: null, tls_ms: 3, first_byte_ms: 0, total_ms: 45.7 };

  it('are stored without names', () => {
    assert.deepEqual(toStoredTimings(timings), [1.6, null, 3, 0, 45.7]);
    assert.deepEqual(toStoredTimings({ ...timings, reconnected: false }), [1.6, null, 3, 0, 45.7]);
    assert.deepEqual(toStoredTimings({ ...timings, reconnected: true }), [1.6, null, 3, 0, 45.7, true]);
  });

  it('come back the same, also those of previous versions', () => {
    for (const given of [timings, { ...timings, reconnected: true }]) {
      assert.deepEqual(fromStoredTimings(toStoredTimings(given)), given);
      assert.deepEqual(fromStoredTimings(given), given);
    }
  });
});
