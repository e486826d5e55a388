import assert from 'node:assert/strict';
import {
  presentDelivery,
  presentListed,
  type StoredDelivery,
} from '../../src/domain/webhooks/delivery-view.ts';
import { deliveryView, listedDelivery } from '../../src/domain/webhooks/delivery-view.ts';
import { presentWebhook, webhookView, type StoredWebhook } from '../../src/domain/webhooks/webhook-view.ts';
import { foundIn } from './found-problems.ts';

const AT = new Date('2026-01-31T12:00:00.000Z');
const later = (ms: number) => new Date(AT.getTime() + ms);

const DELIVERY: StoredDelivery = {
  id: 'd',
  webhook_id: 'w',
  event_id: 'evt_1',
  event: 'issue.created',
  status: 'retrying',
  test: false,
  attempts_count: 2,
  created_at: AT,
};
const WEBHOOK: StoredWebhook = {
  id: 'w',
  name: 'First',
  url: 'https://example.com/',
  events: [
    {
      event: 'issue.updated',
      filters: [
        { field: 'status', changed_to: null },
        { field: 'type', values: ['x', 1, true] },
      ],
    },
  ],
  include_secret_header: false,
  active: true,
  standard_webhooks: false,
  consecutive_failures: 0,
  created_at: AT,
  updated_at: later(1),
};

describe('a delivery that is shown', () => {
  it('has null for what it does not have', () => {
    assert.deepEqual(presentDelivery(DELIVERY), {
      id: 'd',
      webhook_id: 'w',
      event_id: 'evt_1',
      event: 'issue.created',
      status: 'retrying',
      test: false,
      response_status: null,
      failure: null,
      response_ms: null,
      attempts_count: 2,
      next_attempt_at: null,
      scheduled_at: null,
      reason: null,
      created_at: '2026-01-31T12:00:00.000Z',
    });
  });

  it('has the response of the last attempt, and the times of the next ones', () => {
    const shown = presentDelivery({
      ...DELIVERY,
      response_status: 500,
      failure: 'status',
      response_ms: 0,
      reason: 'r',
      next_attempt_at: later(1),
      scheduled_at: later(2),
    });
    const {
      response_status: status,
      failure,
      response_ms: ms,
      reason,
      next_attempt_at,
      scheduled_at,
    } = shown;
    assert.deepEqual([status, failure, ms, reason], [500, 'status', 0, 'r']);
    assert.deepEqual([next_attempt_at, scheduled_at], [later(1).toISOString(), later(2).toISOString()]);
  });

  it('has the time of its scheduled retry as the next attempt if the schedule has none', () => {
    const { next_attempt_at: next } = presentDelivery({
      ...DELIVERY,
      next_attempt_at: null,
      scheduled_at: AT,
    });
    assert.equal(next, AT.toISOString());
  });

  it('says in a list what its event is about, until that is deleted', () => {
    assert.equal(presentListed(DELIVERY, 'evt_1 issue.created iss_1').about, 'iss_1');
    assert.equal(presentListed(DELIVERY, null).about, null);
    assert.equal(presentListed(DELIVERY, null).id, 'd');
  });

  it('is valid in the documents', () => {
    assert.deepEqual(foundIn(deliveryView, presentDelivery(DELIVERY)), []);
    assert.deepEqual(foundIn(listedDelivery, presentListed(DELIVERY, null)), []);
    assert.deepEqual(foundIn(deliveryView, presentListed(DELIVERY, null)), ['/about unknown_member']);
  });
});

describe('a webhook that is shown', () => {
  it('never contains its secret', () => {
    const shown = presentWebhook({ ...WEBHOOK, secret: 's3cret' }, AT);
    assert.equal(shown.has_secret, true);
    assert.ok(!JSON.stringify(shown).includes('s3cret'));
    for (const secret of [null, undefined])
      assert.equal(presentWebhook({ ...WEBHOOK, secret }, AT).has_secret, false);
  });

  it('has null for what it does not have', () => {
    assert.deepEqual(presentWebhook(WEBHOOK, AT), {
      id: 'w',
      name: 'First',
      description: null,
      url: 'https://example.com/',
      method: 'POST',
      content_type: 'application/json',
      events: WEBHOOK.events,
      has_secret: false,
      include_secret_header: false,
      active: true,
      standard_webhooks: false,
      status: 'active',
      consecutive_failures: 0,
      disabled_at: null,
      disabled_reason: null,
      previous_secret_until: null,
      listening: false,
      created_at: '2026-01-31T12:00:00.000Z',
      updated_at: '2026-01-31T12:00:00.001Z',
    });
  });

  it('has the time and the reason of its disabling', () => {
    const shown = presentWebhook(
      { ...WEBHOOK, disabled_at: AT, disabled_reason: 'r', listening_until: AT },
      AT,
    );
    const { status, disabled_at, disabled_reason, listening } = shown;
    assert.deepEqual(
      [status, disabled_at, disabled_reason, listening],
      ['disabled', AT.toISOString(), 'r', true],
    );
  });

  it('shows the end of an overlap only while its previous secret signs', () => {
    const shown = (until: Date | null) =>
      presentWebhook({ ...WEBHOOK, previous_secret_until: until }, AT).previous_secret_until;
    assert.deepEqual([shown(null), shown(AT), shown(later(1))], [null, null, later(1).toISOString()]);
  });

  it('is valid in the documents', () => {
    assert.deepEqual(foundIn(webhookView, presentWebhook(WEBHOOK, AT)), []);
    assert.deepEqual(foundIn(webhookView, { ...presentWebhook(WEBHOOK, AT), secret: 's' }), [
      '/secret unknown_member',
    ]);
  });
});
