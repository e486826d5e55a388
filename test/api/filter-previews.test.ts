import assert from 'node:assert/strict';
import { filterValuesRoute } from '../../src/api/webhooks/filter-values.ts';
import { previewSubscriptions } from '../../src/api/webhooks/preview.ts';
import type { RecentEvent } from '../../src/api/webhooks/recent-events.ts';
import type { Call, RouteResponse } from '../../src/api/http/route.ts';

const AT = Date.parse('2026-01-31T12:00:00.000Z');

/** Returns a recent event of an issue, by default a change of its status. */
function eventWith(
  number: number,
  issue: Record<string, unknown>,
  fields: Partial<RecentEvent> = {},
): RecentEvent {
  return {
    id: `evt_${number}`,
    event: 'issue.updated',
    timestamp: new Date(AT + number),
    words: `SHOP-${number}\nwords`,
    data: { issue },
    ...fields,
  };
}

/** Returns the reader of these events, which asserts the workspace that is read. */
const readerOf = (events: readonly RecentEvent[]) => async (workspaceId: string) => {
  assert.equal(workspaceId, 'w');
  return await Promise.resolve(events);
};

describe('the preview of subscriptions', () => {
  const subscribed = { event: 'issue.updated', filters: [{ field: 'status', values: ['Done'] }] } as const;
  const events = [
    { ...subscribed, filters: subscribed.filters.map((one) => ({ ...one, values: [...one.values] })) },
  ];
  const preview = async (recent: readonly RecentEvent[], limit?: number) => {
    const { status, body } = await previewSubscriptions(readerOf(recent), 'w', { events, limit });
    assert.equal(status, 200);
    return (body as { data: Record<string, unknown>[] }).data;
  };

  it('has the event, the verdict and its reason', async () => {
    const recent = [
      eventWith(1, { status: 'Done' }),
      eventWith(2, { status: 'Open' }, { words: '' }),
      eventWith(3, {}, { event: 'user.joined' }),
    ];
    const common = { event: 'issue.updated', reason: null };
    assert.deepEqual(await preview(recent), [
      {
        ...common,
        event_id: 'evt_1',
        timestamp: '2026-01-31T12:00:00.001Z',
        about: 'SHOP-1',
        verdict: 'send',
      },
      {
        ...common,
        event_id: 'evt_2',
        timestamp: '2026-01-31T12:00:00.002Z',
        about: null,
        verdict: 'skip',
        reason: 'status is "Open", not "Done"',
      },
      {
        ...common,
        event_id: 'evt_3',
        event: 'user.joined',
        timestamp: '2026-01-31T12:00:00.003Z',
        about: 'SHOP-3',
        verdict: 'unsubscribed',
      },
    ]);
  });

  it('contains the newest 20 events, or as many as requested', async () => {
    const recent = Array.from({ length: 60 }, (_, number) => eventWith(number, {}));
    const ids = (data: Record<string, unknown>[]) => data.map((one) => one['event_id']);
    const all = recent.map(({ id }) => id);
    assert.deepEqual(ids(await preview(recent)), all.slice(0, 20));
    assert.deepEqual(ids(await preview(recent, 1)), ['evt_0']);
    assert.deepEqual(ids(await preview(recent, 100)), all);
  });
});

describe('the suggested values of a filter', () => {
  const suggested = async (recent: readonly RecentEvent[]) => {
    const { handle } = filterValuesRoute(readerOf(recent));
    const answer: RouteResponse = await handle({ caller: { workspaceId: 'w' } } as unknown as Call);
    assert.equal(answer.status, 200);
    return (answer.body as { data: unknown[] }).data;
  };

  it('are by event and field, each once and the latest first', async () => {
    const changed = (field: string, value: unknown) => ({ changes: [{ field, new_value: value }] });
    const recent = [
      eventWith(1, { status: 'Done', priority: null }),
      eventWith(2, { status: 'Open' }, { data: { issue: { status: 'Open' }, ...changed('status', 'Open') } }),
      eventWith(3, { status: 'Done' }, { event: 'issue.created' }),
      eventWith(4, {}, { data: { issue: { status: 'Done' }, ...changed('priority', 'High') } }),
      eventWith(5, {}, { data: { issue: {}, ...changed('status', 'Late') } }),
    ];
    assert.deepEqual(await suggested(recent), [
      { event: 'issue.created', field: 'status', values: ['Done'], changed_to: [] },
      { event: 'issue.updated', field: 'status', values: ['Done', 'Open'], changed_to: ['Open', 'Late'] },
      { event: 'issue.updated', field: 'priority', values: [null], changed_to: ['High'] },
    ]);
  });

  it('are at most 30, and have at most 100 characters', async () => {
    const statuses = ['x'.repeat(101), 'y'.repeat(100), ...Array.from({ length: 40 }, (_, n) => `s${n}`)];
    const recent = statuses.map((status, number) => eventWith(number, { status }));
    const [found] = (await suggested(recent)) as { values: string[] }[];
    assert.deepEqual(found?.values, statuses.slice(1, 31));
  });
});
