import assert from 'node:assert/strict';
import { MASKED } from '../../src/domain/webhooks/delivery.ts';
import { withoutPushSecrets } from '../../src/outbound/push-request.ts';

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
