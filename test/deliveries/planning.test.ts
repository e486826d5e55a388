import assert from 'node:assert/strict';
import { refusalOf } from '../../src/activities/deliveries/attempts.ts';
import { planDeliveries, postsOf } from '../../src/activities/deliveries/planned-deliveries.ts';
import { orderedUuid } from '../../src/database/common/ids.ts';
import type { GroupEvent } from '../../src/database/webhooks/dispatch.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';

const AT = new Date('2026-01-31T12:00:00.000Z');
const WEBHOOK: WebhookTarget = {
  id: 'w1',
  workspace_id: 'ws',
  url: 'https://example.com/',
  events: [{ event: 'issue.created', filters: [{ field: 'status', values: ['Done'] }] }],
  secret: null,
  previous_secret: null,
  previous_secret_until: null,
  include_secret_header: false,
  standard_webhooks: false,
  active: true,
  consecutive_failures: 0,
  enabled_count: 0,
  disabled_at: null,
  deleted_at: null,
  listening_until: null,
};
const eventOf = (seq: number, status = 'Done'): GroupEvent => ({
  seq,
  workspace_id: 'ws',
  id: `evt_${seq}`,
  event: 'issue.created',
  timestamp: AT,
  body: JSON.stringify({ data: { issue: { id: '1', status } } }),
  received_at: AT,
  traceparent: `trace ${seq}`,
});
const knownTo = (...webhooks: WebhookTarget[]) => new Map([['ws', webhooks]]);

describe('the deliveries of a group of events', () => {
  it('are one for each event and each webhook that subscribes to it, in the order of the events', () => {
    const other = { ...WEBHOOK, id: 'w2', events: [{ event: 'issue.created' as const, filters: [] }] };
    const unsubscribed = { ...WEBHOOK, id: 'w3', events: [] };
    const planned = planDeliveries([eventOf(7), eventOf(8)], knownTo(WEBHOOK, unsubscribed, other));
    assert.deepEqual(
      planned.map(({ webhook_id, event_id }) => `${event_id} ${webhook_id}`),
      ['evt_7 w1', 'evt_7 w2', 'evt_8 w1', 'evt_8 w2'],
    );
    assert.deepEqual(planned[0], {
      id: orderedUuid(AT, 7, '7:w1'),
      workspace_id: 'ws',
      webhook_id: 'w1',
      event_seq: 7,
      event_id: 'evt_7',
      event: 'issue.created',
      status: 'pending',
      reason: null,
    });
  });

  it('are skipped with the reason if a filter does not match', () => {
    const [planned] = planDeliveries([eventOf(7, 'To Do')], knownTo({ ...WEBHOOK, disabled_at: AT }));
    assert.deepEqual([planned?.status, planned?.reason], ['skipped', 'status is "To Do", not "Done"']);
  });

  it('are held or skipped for a webhook that receives nothing at present', () => {
    const statusFor = (change: Partial<WebhookTarget>) => {
      const [planned] = planDeliveries([eventOf(7)], knownTo({ ...WEBHOOK, ...change }));
      return planned && [planned.status, planned.reason];
    };
    assert.deepEqual(statusFor({ disabled_at: AT }), ['held', 'the webhook is disabled']);
    assert.deepEqual(statusFor({ active: false }), ['skipped', 'the webhook is inactive']);
    assert.equal(statusFor({ deleted_at: AT }), undefined, 'a deleted webhook has none');
  });

  it('do not exist without webhooks in the workspace', () => {
    const broken = { ...eventOf(7), body: 'not parsed' };
    assert.deepEqual(planDeliveries([broken], new Map()), []);
    assert.deepEqual(planDeliveries([broken], knownTo()), []);
    assert.deepEqual(planDeliveries([{ ...eventOf(7), workspace_id: 'other' }], knownTo(WEBHOOK)), []);
  });

  it('keep the ids of a previous version', () => {
    const [planned] = planDeliveries([eventOf(7)], knownTo(WEBHOOK), new Map([['7:w1', 'earlier']]));
    assert.equal(planned?.id, 'earlier');
  });
});

describe('a webhook', () => {
  it('is refused if it was deleted, disabled or deactivated, in this order', () => {
    assert.equal(refusalOf(WEBHOOK), null);
    assert.equal(refusalOf(null)?.[0], 'cancelled');
    const all = { ...WEBHOOK, active: false, disabled_at: AT, deleted_at: AT };
    assert.equal(refusalOf(all)?.[0], 'cancelled');
    assert.equal(refusalOf({ ...all, deleted_at: null })?.[0], 'held');
    assert.equal(refusalOf({ ...all, deleted_at: null, disabled_at: null })?.[0], 'skipped');
  });
});

describe('the posts of a group', () => {
  it('are those deliveries that wait, with the bytes of their event', () => {
    const events = [eventOf(7), eventOf(8)];
    const planned = planDeliveries(events, knownTo(WEBHOOK, { ...WEBHOOK, id: 'w2' }));
    const [first, second, third] = planned;
    assert.ok(first && second && third);
    const posts = [...postsOf(planned, events, new Set([first.id, second.id]))];
    assert.deepEqual(posts[0], {
      id: first.id,
      webhook_id: 'w1',
      workspace_id: 'ws',
      event: 'issue.created',
      timestamp: AT,
      body: Buffer.from(events[0]?.body ?? ''),
      traceparent: 'trace 7',
      status: 'pending',
      generation: 0,
      failures: 0,
      in_backlog: false,
    });
    assert.deepEqual(
      posts.map(({ id }) => id),
      [first.id, second.id],
    );
    assert.equal(posts[0]?.body, posts[1]?.body, 'the deliveries of an event share its bytes');
    assert.deepEqual([...postsOf(planned, [], new Set([first.id]))], [], 'the event is missing');
  });
});
