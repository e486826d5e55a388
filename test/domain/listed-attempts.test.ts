import assert from 'node:assert/strict';
import { MAX_LISTED_PAYLOAD_BYTES } from '../../src/domain/common/limits.ts';
import { limitPayloads } from '../../src/domain/tasks/listed-attempts.ts';

describe('listed attempts', () => {
  const sizesOf = (...bodies: string[]) =>
    limitPayloads(bodies.map((request_body) => ({ request_body }))).map(
      ({ request_body: body }) => body?.length,
    );

  it('have the payloads of the newest up to the limit, and that of the newest always', () => {
    const half = 'x'.repeat(MAX_LISTED_PAYLOAD_BYTES / 2);
    assert.deepEqual(sizesOf(half, half, 'y'), [half.length, half.length, undefined]);
    assert.deepEqual(sizesOf(`${half}${half}z`, 'y'), [2 * half.length + 1, undefined]);
    assert.deepEqual(sizesOf('é'.repeat(half.length), 'y'), [half.length, undefined], 'bytes count');
    assert.deepEqual(sizesOf('', ''), [0, 0]);
    assert.deepEqual(sizesOf(), []);
  });

  it('keep everything else', () => {
    const attempt = { request_body: 'x'.repeat(MAX_LISTED_PAYLOAD_BYTES), attempt: 1 };
    assert.deepEqual(limitPayloads([attempt, { ...attempt, attempt: 2 }]), [
      attempt,
      { request_body: null, attempt: 2 },
    ]);
  });
});
