import assert from 'node:assert/strict';
import { deliveryAttemptsLeft, deliveryWaitMs } from '../../src/domain/common/retry-schedules.ts';
import { INACTIVE_REASON, UNMADE_RETRY, type AttemptTrigger } from '../../src/domain/webhooks/delivery.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { EVENT_SCHEMAS } from '../../src/domain/webhooks/event-schemas.ts';
import { formatLocal } from '../../web/format/time.ts';
import { eventAsCurl } from '../../web/pages/webhooks/log/example.ts';
import {
  comingAttempts,
  describeDelivery,
  failureExcerpt,
  lastFailure,
  outcomeText,
  remedyFor,
  retryMessage,
} from '../../web/pages/webhooks/parts/attempt-text.ts';

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

describe('the excerpt of a failed response', () => {
  const excerpt = (body: string | null, failure: string | null = 'status') =>
    failureExcerpt({ failure, response: { body } });

  it('is the beginning of its text, on one line', () => {
    assert.equal(excerpt('{\n  "error": "busy"\n}'), '{ "error": "busy" }');
    assert.equal(excerpt('x'.repeat(300)), `${'x'.repeat(200)}…`);
  });

  it('has no tags of an error page', () => {
    const page = '<!doctype html><title>502</title><style>a { b: c }</style><h1>Bad  gateway</h1><p>nginx';
    assert.equal(excerpt(page), 'Bad gateway nginx');
  });

  it('has the text after a long style, and nothing of an unfinished one', () => {
    const style = `<style>${'a { b: c } '.repeat(2_000)}`;
    assert.equal(excerpt(`<html>${style}</style ><h1>Bad gateway</h1>`), 'Bad gateway');
    assert.equal(excerpt(`<h1>Bad gateway</h1>${style}`), 'Bad gateway');
    assert.equal(excerpt('<h1>Bad gateway</h1><a href="'), 'Bad gateway');
  });

  it('has tags that end before the next one begins', () => {
    assert.equal(excerpt('<p>size < 5 <b>MB</b>'), 'size < 5 MB');
    assert.equal(excerpt('<script'.repeat(9_000)), null);
    assert.equal(excerpt('<a'.repeat(32_000)), `${'<a'.repeat(100)}…`);
  });

  it('is missing without a failure, a response or a text', () => {
    assert.equal(excerpt('fine', null), null);
    assert.equal(excerpt(null), null);
    assert.equal(excerpt(' <p></p> '), null);
    assert.equal(failureExcerpt(undefined), null);
    assert.equal(failureExcerpt({ failure: 'timeout', response: null }), null);
  });
});

describe('a skipped delivery in words', () => {
  it('says whether it was never sent, not sent automatically, or not retried, and why', () => {
    const table: [string, readonly Attempt[], string][] = [
      [MISMATCH, [], `Not sent: ${MISMATCH}.`],
      [INACTIVE_REASON, [], 'Not sent: the webhook was inactive.'],
      [INACTIVE_REASON, [failed(0)], `${RETURNED_503} Not retried: the webhook was inactive.`],
      [MISMATCH, [failed(0, 'manual')], `${RETURNED_503} Not sent automatically: ${MISMATCH}.`],
    ];
    for (const [reason, attempts, words] of table)
      assert.equal(describeDelivery(delivery({ reason, attempts }), 'active'), words);
  });

  it('also says why a manual retry was not made', () => {
    const unmade = `${UNMADE_RETRY} 2026-01-31T12:00:00.000Z: ${INACTIVE_REASON}`;
    const reason = `${INACTIVE_REASON}; ${unmade}`;
    const time = formatLocal('2026-01-31T12:00:00.000Z');
    const sentence = `A manual retry was not made at ${time}: the webhook is inactive.`;
    assert.equal(
      describeDelivery(delivery({ reason }), 'inactive'),
      `Not sent: the webhook was inactive. ${sentence}`,
    );
    assert.equal(remedyFor({ status: 'skipped', reason }, { status: 'inactive' }), 'activation');
    const retrying = describeDelivery(
      delivery({ status: 'retrying', reason: unmade, attempts: [failed(0)] }),
      'active',
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
    const words = describeDelivery(delivery({ status: 'retrying', attempts, next_attempt_at }), 'active');
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

describe('a held delivery in words', () => {
  it('says what to do in the present state of the webhook', () => {
    const held = delivery({ status: 'held' });
    const because = 'Held because the webhook was disabled.';
    assert.equal(
      describeDelivery(held, 'disabled'),
      `${because} Enable the webhook, then recover its deliveries.`,
    );
    assert.equal(
      describeDelivery(held, 'active'),
      `${because} The webhook is enabled now: recover its deliveries.`,
    );
    assert.equal(
      describeDelivery(held, 'inactive'),
      `${because} Activate the webhook, then recover its deliveries.`,
    );
    assert.equal(describeDelivery(held, null), because);
    assert.equal(describeDelivery(held, undefined), because);
  });
});

describe('a succeeded delivery in words', () => {
  it('says that it was delivered, also if a manual attempt failed afterwards', () => {
    const delivered = { ...failed(0), failure: null, response: { status: 204 } };
    const words = (attempts: Attempt[]) =>
      describeDelivery(delivery({ status: 'succeeded', attempts }), 'active');
    assert.equal(words([delivered]), 'Delivered: 204 No Content after 1.0 s.');
    assert.equal(
      words([delivered, failed(1, 'manual')]),
      `${RETURNED_503} An earlier attempt delivered the event.`,
    );
  });
});

describe('the attempts to come', () => {
  const [next, scheduled] = ['2026-01-31T12:01:00.000Z', '2026-01-31T13:00:00.000Z'];

  it('are the next one of the schedule while the delivery is retried, and the scheduled retry', () => {
    const coming = (status: Delivery['status'], at: string | null, scheduled_at: string | null) =>
      comingAttempts({ status, next_attempt_at: at, scheduled_at });
    assert.deepEqual(coming('retrying', next, null), { automatic: next, scheduled: null });
    assert.deepEqual(coming('retrying', next, scheduled), { automatic: next, scheduled });
    // Without an attempt of the schedule, the API returns the scheduled one twice.
    assert.deepEqual(coming('pending', scheduled, scheduled), { automatic: null, scheduled });
    for (const status of ['succeeded', 'failed', 'held', 'skipped', 'cancelled'] as const) {
      assert.deepEqual(coming(status, next, null), { automatic: null, scheduled: null }, status);
      assert.deepEqual(coming(status, scheduled, scheduled), { automatic: null, scheduled }, status);
    }
  });

  it('are announced after a manual retry until it has ended', () => {
    const now = { at: undefined, attempts: 3 };
    assert.equal(retryMessage(now, { attempts_count: 3, scheduled_at: null }), 'Attempt started.');
    assert.equal(retryMessage(now, { attempts_count: 4, scheduled_at: null }), '');
    const later = { at: new Date(scheduled), attempts: 3 };
    assert.match(
      retryMessage(later, { attempts_count: 3, scheduled_at: scheduled }),
      /^Attempt scheduled for /,
    );
    assert.equal(retryMessage(later, { attempts_count: 4, scheduled_at: null }), '');
  });
});

describe('the last delivery of a webhook', () => {
  const last = { response_status: null, failure: null };

  it('is shown as failed if its last attempt failed', () => {
    assert.equal(lastFailure({ last: { ...last, failure: 'timeout' } }), 'timeout');
    assert.equal(lastFailure({ last: { ...last, failure: 'status', response_status: 503 } }), '503');
    assert.equal(lastFailure({ last: { ...last, response_status: 200 } }), null);
    assert.equal(lastFailure({ last: null }), null);
    assert.equal(lastFailure(undefined), null);
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

describe('the outcome of a delivery in the log', () => {
  const none = { attempts_count: 0, response_status: null, failure: null, response_ms: null, reason: null };
  for (const [fields, text] of [
    [none, ''],
    [{ ...none, reason: 'priority is "Low", not "High"' }, 'priority is "Low", not "High"'],
    [{ ...none, attempts_count: 1, response_status: 200, response_ms: 41 }, '200 · 41 ms'],
    [
      { ...none, attempts_count: 2, failure: 'timeout', reason: 'the webhook is inactive' },
      'timeout · the webhook is inactive',
    ],
  ] as const) {
    it(`is "${text}"`, () => assert.equal(outcomeText(fields), text));
  }
});
