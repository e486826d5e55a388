import assert from 'node:assert/strict';
import { MASKED } from '../../src/domain/webhooks/delivery.ts';
import { loggedPushHeaders, pushHeaders, withoutPushSecrets } from '../../src/outbound/push-request.ts';
import { signature } from '../../src/outbound/sign.ts';

describe('the headers of a push notification', () => {
  const BODY = Buffer.from('{}');
  const PUSHED = { delivery: 'd1', event: 'task.completed', at: '2026-01-31T12:00:00.000Z' };
  const PLAIN = {
    'content-type': 'application/a2a+json',
    'a2a-version': '1.0',
    'x-service-event': 'task.completed',
    'x-service-delivery': 'd1',
    'x-service-timestamp': '2026-01-31T12:00:00.000Z',
  };
  const headersFor = (token: string | null, authorization: string | null) =>
    pushHeaders(PUSHED, BODY, { token, authorization });

  it('have the token and a signature with it, and the credential, if the receiver expects them', () => {
    const signed = { 'x-a2a-notification-token': 't', 'x-service-signature': signature('t', BODY) };
    assert.deepEqual(headersFor(null, null), PLAIN);
    assert.deepEqual(headersFor('t', null), { ...PLAIN, ...signed });
    assert.deepEqual(headersFor(null, 'Bearer c'), { ...PLAIN, authorization: 'Bearer c' });
    assert.deepEqual(headersFor('t', 'Bearer c'), { ...PLAIN, ...signed, authorization: 'Bearer c' });
  });

  it('are logged with both secrets masked', () => {
    const sent = headersFor('t', 'Bearer c');
    const masked = { 'x-a2a-notification-token': MASKED, authorization: MASKED };
    assert.deepEqual(loggedPushHeaders(sent), { ...sent, ...masked });
  });
});

describe('the logged response to a push notification', () => {
  const secrets = { token: 'the-token', authorization: 'Bearer the-credential' };
  const none = { token: null, authorization: null };

  for (const [what, repeated] of [
    ['the credential', 'the-credential'],
    ['the credential with its scheme', 'Bearer the-credential'],
    ['the token', 'the-token'],
  ] as const) {
    it(`does not contain ${what}, even if the receiver repeats it`, () => {
      const response = { headers: { 'x-echo': repeated }, body: `refused: "${repeated}"` };
      const { headers, body } = withoutPushSecrets(response, secrets);
      for (const text of [headers?.['x-echo'] ?? '', body ?? '']) {
        assert.ok(text.includes(MASKED), text);
        assert.ok(!/the-(credential|token)/.test(text), text);
      }
    });
  }

  it('is unchanged if nothing secret was sent', () => {
    const response = { headers: { 'x-echo': 'Bearer' }, body: 'the body' };
    assert.deepEqual(withoutPushSecrets(response, none), response);
  });
});
