import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inCheckout } from '../../dev/common/paths.ts';
import { requestHeaders, spelledHeaders } from '../../src/outbound/attempt-record.ts';
import { pushHeaders } from '../../src/outbound/push-request.ts';
import { webhookHeaders } from '../../src/outbound/webhook-request.ts';

const BODY = Buffer.from('{}');
const NOW = new Date('2026-01-31T12:00:00.000Z');

describe('the names of headers', () => {
  /** Returns the names in the first table of headers in a document. */
  const documented = (...path: string[]): string[] => {
    const [, table = ''] =
      /\n\| header \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(readFileSync(inCheckout('docs', ...path), 'utf8')) ??
      [];
    return table.split('\n').flatMap((row) => row.split('|')[1]?.match(/[\w-]+/g) ?? []);
  };
  const sent = (headers: Record<string, string>) =>
    Object.keys(spelledHeaders(requestHeaders({ ...headers, traceparent: '00-1-2-01' })));
  const always = ['Accept', 'Accept-Encoding', 'User-Agent', 'traceparent'];

  it('of deliveries are spelled as in the documentation', () => {
    const message = { deliveryId: 'd', event: 'issue.created', timestamp: NOW, body: BODY };
    const signing = { secret: 's', previousSecret: 'old', includeSecretHeader: true, standardWebhooks: true };
    const all = webhookHeaders(message, signing, NOW);
    const names = [...documented('receiving.md'), 'Accept', 'Accept-Encoding'];
    assert.deepEqual(sent(all).toSorted(), names.toSorted());
  });

  it('of push notifications are spelled as in the documentation', () => {
    const about = { delivery: 'd', event: 'task.completed', at: 'now' };
    const all = pushHeaders(about, BODY, { token: 't', authorization: 'Bearer a' });
    assert.deepEqual(sent(all).toSorted(), [...documented('a2a.md'), ...always].toSorted());
  });
});
