import assert from 'node:assert/strict';
import { deliveryAttemptsLeft, deliveryWaitMs } from '../../src/domain/common/retry-schedules.ts';
import { INACTIVE_REASON, UNMADE_RETRY, type AttemptTrigger } from '../../src/domain/webhooks/delivery.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { EVENT_SCHEMAS } from '../../src/domain/webhooks/event-schemas.ts';
import { eventAsCurl } from '../../web/pages/webhooks/log/example.ts';
import { describeDelivery, remedyFor } from '../../web/pages/webhooks/parts/attempt-text.ts';

type Delivery = Parameters<typeof describeDelivery>[0];
type Attempt = Delivery['attempts'][number];

const MINUTE = 60_000;
const START = Date.parse('2026-01-31T12:00:00Z');
const MISMATCH = 'priority is "Low", not "High"';

/** An attempt that got the response 503 after a second. */
function failed(minutes: number, trigger: AttemptTrigger = 'automatic'): Attempt {
  return {
    trigger,
    attempted_at: new Date(START + minutes * MINUTE).toISOString(),
    response: { status: 503 },
    failure: 'status',
    message: null,
    response_ms: 1_000,
  };
}

function delivery(fields: Partial<Delivery>): Delivery {
  return { status: 'skipped', test: false, reason: null, next_attempt_at: null, attempts: [], ...fields };
}

const RETURNED_503 = 'The endpoint returned 503 Service Unavailable after 1.0 s. Check the endpoint’s logs.';

describe('a skipped delivery in words', () => {
  it('says whether it was never sent, not sent automatically, or not retried, and why', () => {
    const table: [string, readonly Attempt[], string][] = [
      [MISMATCH, [], `Not sent: ${MISMATCH}.`],
      [INACTIVE_REASON, [], 'Not sent: the webhook was inactive.'],
      [INACTIVE_REASON, [failed(0)], `${RETURNED_503} Not retried: the webhook was inactive.`],
      [MISMATCH, [failed(0, 'manual')], `${RETURNED_503} Not sent automatically: ${MISMATCH}.`],
    ];
    for (const [reason, attempts, words] of table)
      assert.equal(describeDelivery(delivery({ reason, attempts })), words);
  });

  it('also says why a manual retry was not made', () => {
    const unmade = `${UNMADE_RETRY} 2026-01-31T12:00:00.000Z: ${INACTIVE_REASON}`;
    const reason = `${INACTIVE_REASON}; ${unmade}`;
    const sentence = 'A manual retry was not made at 2026-01-31T12:00:00.000Z: the webhook is inactive.';
    assert.equal(describeDelivery(delivery({ reason })), `Not sent: the webhook was inactive. ${sentence}`);
    assert.equal(remedyFor({ status: 'skipped', reason }, { status: 'inactive' }), 'activation');
    const retrying = describeDelivery(
      delivery({ status: 'retrying', reason: unmade, attempts: [failed(0)] }),
    );
    assert.ok(retrying.endsWith(` ${sentence}`), retrying);
  });

  it('offers what can be changed: the filters, or the status of the webhook while it is inactive', () => {
    const skipped = (reason: string) => ({ status: 'skipped', reason }) as const;
    assert.equal(remedyFor(skipped(MISMATCH), { status: 'active' }), 'filters');
    assert.equal(remedyFor(skipped(MISMATCH), { status: 'inactive' }), 'filters');
    assert.equal(remedyFor(skipped(INACTIVE_REASON), { status: 'inactive' }), 'activation');
    assert.equal(remedyFor(skipped(INACTIVE_REASON), { status: 'active' }), null);
    assert.equal(remedyFor(skipped(INACTIVE_REASON), { status: 'disabled' }), null);
    assert.equal(remedyFor({ status: 'failed', reason: null }, { status: 'active' }), null);
  });
});

describe('the retries that are left', () => {
  const retrying = (attempts: Attempt[], nextMinutes: number) => {
    const next_attempt_at = new Date(START + nextMinutes * MINUTE + 1_000).toISOString();
    const words = describeDelivery(delivery({ status: 'retrying', attempts, next_attempt_at }));
    return words.slice(RETURNED_503.length + 1);
  };

  it('are those of the schedule', () => {
    assert.equal(retrying([failed(0)], 1), '5 automatic retries are left.');
    assert.equal(retrying([failed(0), failed(1)], 6), '4 automatic retries are left.');
    assert.equal(retrying([failed(-60), failed(0)], 12 * 60), '1 automatic retry is left.');
  });

  it('are all again after a recovery, however many attempts were made before', () => {
    const earlier = [failed(-900), failed(-899), failed(-894), failed(-864), failed(-744), failed(-24)];
    assert.equal(retrying([...earlier, failed(0)], 1), '5 automatic retries are left.');
  });

  it('do not depend on manual attempts', () => {
    assert.equal(retrying([failed(0), failed(0.5, 'manual')], 1), '5 automatic retries are left.');
  });

  it('have no number if the next attempt is not at a time of the schedule', () => {
    assert.equal(retrying([failed(0)], 3), 'Baton retries it automatically.');
    assert.equal(retrying([failed(0, 'manual')], 1), 'Baton retries it automatically.');
  });

  it('follow from the wait after each failure', () => {
    for (const failures of [1, 2, 3, 4, 5]) {
      const waitMs = deliveryWaitMs(failures) ?? 0;
      assert.equal(deliveryAttemptsLeft(waitMs), 6 - failures);
      assert.equal(deliveryAttemptsLeft(waitMs + 30_000), 6 - failures);
      assert.equal(deliveryAttemptsLeft(waitMs - 1), null);
    }
  });
});

describe('the example of an event', () => {
  it('is valid for each kind', () => {
    for (const kind of EVENT_KINDS) {
      const [, text = ''] = /-d '(.*)'$/.exec(eventAsCurl('https://baton.example.com', kind)) ?? [];
      const { event, data } = JSON.parse(text) as { event: string; data: unknown };
      assert.equal(event, kind);
      assert.ok(EVENT_SCHEMAS[kind].safeParse(data).success, text);
    }
  });
});
