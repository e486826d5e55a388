import assert from 'node:assert/strict';
import {
  IDEMPOTENCY_KEY,
  outcomeOfClaim,
  outdatedBefore,
  type ClaimOutcome,
  type StoredKey,
} from '../../src/domain/common/idempotency.ts';

const CLAIMED = new Date('2026-01-01T00:00:00.000Z');
const after = (ms: number) => new Date(CLAIMED.getTime() + ms);
const STORED: StoredKey = { actor: 'key:1', request_hash: 'abc', answer: null, created_at: CLAIMED };
const request = (ms: number) => ({ actor: 'key:1', requestHash: 'abc', now: after(ms) });

describe('the claim of a stored idempotency key', () => {
  const rows: [what: string, stored: StoredKey | null, ms: number, outcome: ClaimOutcome][] = [
    ['waits if another request has just released it', null, 0, { outcome: 'at_work' }],
    ['waits for the first request', STORED, 59_999, { outcome: 'at_work' }],
    [
      'replaces a first request that died',
      STORED,
      60_000,
      { outcome: 'mine', claimedAt: CLAIMED, isFirst: false },
    ],
    ['gets the stored response', { ...STORED, answer: 's' }, 0, { outcome: 'answered', answer: 's' }],
    ['gets it also later', { ...STORED, answer: 's' }, 60_000, { outcome: 'answered', answer: 's' }],
    [
      'is refused to another credential',
      { ...STORED, actor: 'key:2', answer: 's' },
      0,
      { outcome: 'reused' },
    ],
    ['is refused to another request', { ...STORED, request_hash: 'abd' }, 0, { outcome: 'reused' }],
    [
      'is granted to every credential if a previous version stored no credential',
      { ...STORED, actor: null, answer: 's' },
      0,
      { outcome: 'answered', answer: 's' },
    ],
  ];
  for (const [what, stored, ms, outcome] of rows) {
    it(what, () => assert.deepEqual(outcomeOfClaim(stored, request(ms)), outcome));
  }

  it('counts as new after 24 hours', () => {
    assert.deepEqual(outdatedBefore(new Date('2026-01-02T00:00:00.000Z')), CLAIMED);
  });
});

describe('an idempotency key', () => {
  it('has 1 to 255 visible ASCII characters', () => {
    for (const key of ['a', '!', '~', 'x'.repeat(255)]) assert.match(key, IDEMPOTENCY_KEY);
    for (const key of ['', ' ', 'a b', 'é', '\u007f', 'a\n', 'x'.repeat(256)])
      assert.doesNotMatch(key, IDEMPOTENCY_KEY);
  });
});
