import assert from 'node:assert/strict';
import { actionOfKey } from '../../web/forms/enter-key.ts';
import { createOneAtATime } from '../../web/forms/one-at-a-time.ts';
import { webhookPlan } from '../../src/domain/webhooks/webhook-plan.ts';
import { createRequestKeys } from '../../web/forms/request-key.ts';
import { validate } from '../../web/forms/validate.ts';
import { overlapHoursOf } from '../../web/pages/settings/keys/overlap.ts';
import {
  completeSubscriptions,
  draftFilter,
  newFilter,
  subscriptionsOf,
  type DraftEvents,
} from '../../web/pages/webhooks/form/draft-filters.ts';

describe('Enter in a form that only its buttons save', () => {
  const press = (change: object, isField: boolean) =>
    actionOfKey({ key: 'Enter', ctrlKey: false, metaKey: false, isComposing: false, ...change }, isField);

  it('saves with Ctrl or Cmd, stays in a field, and presses a button', () => {
    assert.equal(press({ ctrlKey: true }, true), 'save');
    assert.equal(press({ metaKey: true }, false), 'save');
    assert.equal(press({}, true), 'stay');
    assert.equal(press({}, false), 'default');
  });

  it('belongs to the input method while text is composed', () => {
    assert.equal(press({ isComposing: true, ctrlKey: true }, true), 'default');
    assert.equal(press({ key: 'a', ctrlKey: true }, true), 'default');
  });
});

describe('the idempotency keys of a form', () => {
  it('stay the same for the same body, and change with it', () => {
    let count = 0;
    const keyOf = createRequestKeys(() => `key ${(count += 1)}`);
    assert.equal(keyOf({ name: 'Billing' }), 'key 1');
    assert.equal(keyOf({ name: 'Billing' }), 'key 1');
    assert.equal(keyOf({ name: 'Billing sync' }), 'key 2');
    assert.equal(keyOf({ name: 'Billing' }), 'key 3');
  });

  it('are random', () => {
    assert.match(createRequestKeys()({}), /^[0-9a-f]{32}$/);
    assert.notEqual(createRequestKeys()({}), createRequestKeys()({}));
  });
});

describe('work that is done one at a time', () => {
  it('is not started while earlier work is pending, and is again after it failed', async () => {
    const start = createOneAtATime();
    const first = Promise.withResolvers<void>();
    let started = 0;
    const work = () => {
      started += 1;
      return first.promise;
    };
    start(work);
    start(work);
    assert.equal(started, 1);
    first.reject(new Error('lost'));
    await first.promise.catch(() => {});
    start(work);
    assert.equal(started, 2);
  });
});

describe('the overlap of a rotated key', () => {
  it('is a whole number of hours, and an empty field is none', () => {
    const table: [number | string, number | null][] = [
      [24, 24],
      [0, 0],
      ['0', 0],
      [720, 720],
      ['', null],
      ['-', null],
      [-1, null],
      [1.5, null],
      [721, null],
    ];
    for (const [given, hours] of table) assert.equal(overlapHoursOf(given), hours, JSON.stringify(given));
  });
});

describe('a filter of a webhook in the form', () => {
  const event = 'issue.updated';
  const field = 'status';
  const errorsOf = (events: DraftEvents) => {
    const plan = { name: 'Billing', url: 'https://api.acme.example/hooks', events: subscriptionsOf(events) };
    return validate(webhookPlan, plan);
  };

  it('without a value has an error, and is missing in the preview', () => {
    for (const operator of ['changed_to', 'values'] as const) {
      const events = { [event]: [newFilter({ field, operator, values: [] })] };
      assert.deepEqual(errorsOf(events), { 'events.0.filters.0.values': 'Must have at least 1 entry.' });
      assert.deepEqual(completeSubscriptions(events), [{ event, filters: [] }]);
    }
  });

  it('keeps the type of its value, also of an empty one', () => {
    for (const value of ['Done', 0, false, null]) {
      const events = { [event]: [draftFilter({ field, changed_to: value })] };
      assert.deepEqual(errorsOf(events), {});
      const stored = [{ event, filters: [{ field, changed_to: value }] }];
      assert.deepEqual(subscriptionsOf(events), stored);
      assert.deepEqual(completeSubscriptions(events), stored);
    }
  });

  it('that is stored with an empty text has no value', () => {
    assert.deepEqual(draftFilter({ field, changed_to: '' }).values, []);
  });
});
