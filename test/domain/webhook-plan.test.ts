import assert from 'node:assert/strict';
import { subscriptions } from '../../src/domain/webhooks/webhook-filters.ts';
import { secret, webhookEdit, webhookPlan } from '../../src/domain/webhooks/webhook-plan.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { FILTER_FIELDS } from '../../src/domain/webhooks/webhook.ts';
import { foundIn } from './found-problems.ts';

const PLAN = { name: 'First', url: 'https://example.com/', events: [{ event: 'issue.created' }] };

describe('a webhook to create', () => {
  const found = (change: Record<string, unknown>) => foundIn(webhookPlan, { ...PLAN, ...change });

  it('has a name, an address and events; all else is optional', () => {
    assert.deepEqual(found({}), []);
    const all = {
      description: 'Tells billing',
      method: 'POST',
      content_type: 'application/json',
      include_secret_header: true,
      allow_secret_over_http: true,
      active: false,
      standard_webhooks: true,
      secret: 's',
    };
    assert.deepEqual(found(all), []);
    assert.deepEqual(foundIn(webhookPlan, {}), ['/name required', '/url required', '/events required']);
    assert.deepEqual(found({ description: null }), []);
    assert.deepEqual(found({ description: 'x'.repeat(1_001) }), ['/description too_long']);
    assert.deepEqual(found({ other: 1 }), ['/other unknown_member']);
  });

  it('has no filters by default', () => {
    assert.deepEqual(webhookPlan.parse(PLAN).events, [{ event: 'issue.created', filters: [] }]);
  });

  const wrong: [change: Record<string, unknown>, problem: string][] = [
    [{ name: '' }, '/name too_short'],
    [{ name: ' ' }, '/name blank'],
    [{ name: 'x'.repeat(201) }, '/name too_long'],
    [{ name: null }, '/name wrong_type'],
    [{ name: 'a\u0000' }, '/name not_storable'],
    [{ method: 'GET' }, '/method not_allowed'],
    [{ method: 'post' }, '/method not_allowed'],
    [{ content_type: 'text/plain' }, '/content_type not_allowed'],
    [{ events: null }, '/events wrong_type'],
    [{ include_secret_header: 'yes' }, '/include_secret_header wrong_type'],
    [{ standard_webhooks: 1 }, '/standard_webhooks wrong_type'],
    [{ active: null }, '/active wrong_type'],
    [{ secret: '' }, '/secret too_short'],
    [{ secret: '  ' }, '/secret blank'],
    [{ secret: null }, '/secret wrong_type'],
    [{ secret: 1 }, '/secret wrong_type'],
    [{ url: null }, '/url wrong_type'],
    [{ url: '' }, '/url invalid_format'],
    [{ url: 'ftp://example.com' }, '/url invalid_format'],
    [{ url: 'javascript:alert(1)' }, '/url invalid_format'],
    [{ url: 'https:example.com' }, '/url invalid_format'],
    [{ url: 'https://' }, '/url invalid_format'],
    [{ url: 'https://example.com:99999' }, '/url invalid_format'],
    [{ url: 'https://me@example.com' }, '/url invalid_format'],
    [{ url: 'https://example.com/a b' }, '/url invalid_format'],
    [{ url: 'example.com' }, '/url invalid_format'],
    [{ url: 'x https://example.com' }, '/url invalid_format'],
    [{ url: 'ftp://example.com/http://a' }, '/url invalid_format'],
    [{ url: 'https://example.com/#a' }, '/url invalid_format'],
    [{ url: `https://example.com/${'a'.repeat(2_029)}` }, '/url too_long'],
    [{ url: 'a'.repeat(2_049) }, '/url too_long'],
  ];
  for (const [change, problem] of wrong) {
    it(`is refused: ${JSON.stringify(change).slice(0, 40)}`, () =>
      assert.deepEqual(found(change), [problem]));
  }

  it('can have an address with http, in any case', () => {
    for (const url of [
      'http://example.com',
      'HTTPS://example.com',
      `https://example.com/${'a'.repeat(2_028)}`,
    ])
      assert.deepEqual(found({ url }), [], url);
  });
});

describe('a webhook to change', () => {
  it('may have any of the fields, and no secret', () => {
    for (const change of [
      {},
      { name: 'x' },
      { url: PLAN.url },
      { events: PLAN.events },
      { secret: null },
      { active: true },
    ])
      assert.deepEqual(foundIn(webhookEdit, change), []);
    assert.deepEqual(foundIn(webhookEdit, { name: '', other: 1 }), [
      '/name too_short',
      '/other unknown_member',
    ]);
    assert.deepEqual(foundIn(webhookEdit, { events: [] }), ['/events too_short']);
  });
});

describe('the secret of a webhook', () => {
  it('has 1 to 256 characters without control characters', () => {
    for (const value of ['s', ' s ', 'é😀', 'x'.repeat(256)])
      assert.deepEqual(foundIn(secret, value), [], value);
    assert.deepEqual(foundIn(secret, 'x'.repeat(257)), [' too_long']);
    for (const value of ['a\nb', '\u007fx', '\u0085x'])
      assert.deepEqual(foundIn(secret, value), [' invalid_format']);
    assert.deepEqual(foundIn(secret, 'a\u0000'), [' not_storable'], 'reported once');
    assert.deepEqual(foundIn(secret, 'a\ud800'), [' not_storable']);
    assert.deepEqual(foundIn(secret, 'a\u0000\n'), [' not_storable', ' invalid_format']);
  });
});

describe('the events of a webhook', () => {
  const found = (...filters: unknown[]) => foundIn(subscriptions, [{ event: 'issue.created', filters }]);

  it('are at least one kind, and each kind once', () => {
    assert.deepEqual(
      foundIn(
        subscriptions,
        EVENT_KINDS.map((event) => ({ event })),
      ),
      [],
    );
    assert.deepEqual(foundIn(subscriptions, []), [' too_short']);
    assert.deepEqual(foundIn(subscriptions, [{ event: 'issue.other' }]), ['/0/event not_allowed']);
    assert.deepEqual(foundIn(subscriptions, [{ event: null }, {}, 'issue.created']), [
      '/0/event not_allowed',
      '/1/event required',
      '/2 wrong_type',
    ]);
    assert.deepEqual(foundIn(subscriptions, [{ event: 'issue.created', other: 1 }]), [
      '/0/other unknown_member',
    ]);
    const twice = ['issue.created', 'sprint.started', 'issue.created'].map((event) => ({ event }));
    assert.deepEqual(foundIn(subscriptions, twice), ['/2/event not_allowed']);
    const many = [...EVENT_KINDS, 'issue.created'].map((event) => ({ event }));
    assert.deepEqual(foundIn(subscriptions, many), [' too_long']);
  });

  it('have filters on each field, with either a new value or current values', () => {
    for (const field of FILTER_FIELDS) {
      assert.deepEqual(found({ field, changed_to: 'x' }), [], field);
      assert.deepEqual(found({ field, values: ['x'] }), [], field);
    }
    assert.deepEqual(found({ field: 'title', values: ['x'] }), ['/0/filters/0/field not_allowed']);
    assert.deepEqual(found({ values: ['x'] }, 'status'), [
      '/0/filters/0/field required',
      '/0/filters/1 wrong_type',
    ]);
    assert.deepEqual(found({ field: 'status' }), ['/0/filters/0 required']);
    assert.deepEqual(found({ field: 'status', changed_to: 'x', values: ['x'] }), [
      '/0/filters/0 not_allowed',
    ]);
    assert.deepEqual(found({ field: 'status', changed_to: null, values: ['x'] }), [
      '/0/filters/0 not_allowed',
    ]);
    assert.deepEqual(found({ field: 'status', values: ['x'], other: 1 }), [
      '/0/filters/0/other unknown_member',
    ]);
    for (const values of [null, 'x'])
      assert.deepEqual(found({ field: 'status', values }), ['/0/filters/0/values wrong_type']);
    for (const filters of [null, {}])
      assert.deepEqual(foundIn(subscriptions, [{ event: 'issue.created', filters }]), [
        '/0/filters wrong_type',
      ]);
  });

  it('have at most 20 filters with 1 to 100 values', () => {
    const filter = { field: 'status', values: ['x'] };
    assert.deepEqual(found(...Array.from({ length: 20 }, () => filter)), []);
    assert.deepEqual(found(...Array.from({ length: 21 }, () => filter)), ['/0/filters too_long']);
    const withValues = (count: number) => ({
      field: 'status',
      values: Array.from({ length: count }, () => 'x'),
    });
    assert.deepEqual(found(withValues(100)), []);
    assert.deepEqual(found(withValues(101)), ['/0/filters/0/values too_long']);
    assert.deepEqual(found(withValues(0)), ['/0/filters/0/values too_short']);
  });

  const values: [value: unknown, code: string | null][] = [
    [null, null],
    [true, null],
    [false, null],
    [0, null],
    [-1.5, null],
    [2 ** 53 - 1, null],
    ['', null],
    ['x'.repeat(500), null],
    ['😀'.repeat(500), null],
    [2 ** 53, 'number_not_exact'],
    [1e300, 'number_not_exact'],
    [Number.POSITIVE_INFINITY, 'number_not_exact'],
    [Number.NaN, 'number_not_exact'],
    ['x'.repeat(501), 'too_long'],
    ['😀'.repeat(501), 'too_long'],
    ['\u0000', 'not_storable'],
    ['\ud800', 'not_storable'],
    [{}, 'wrong_type'],
    [[], 'wrong_type'],
  ];
  for (const [value, code] of values) {
    const shown = String(typeof value === 'string' ? JSON.stringify(value) : value).slice(0, 30);
    it(`${code === null ? 'accept' : 'refuse'} the filter value ${shown || '[]'} of type ${typeof value}`, () => {
      const expected = (field: string) => (code === null ? [] : [`/0/filters/0/${field} ${code}`]);
      assert.deepEqual(found({ field: 'status', changed_to: value }), expected('changed_to'));
      assert.deepEqual(found({ field: 'status', values: [value] }), expected('values/0'));
    });
  }

  it('say what is wrong with a value', () => {
    const messageOf = (value: unknown) =>
      subscriptions.safeParse([{ event: 'issue.created', filters: [{ field: 'status', values: [value] }] }])
        .error?.issues[0]?.message;
    assert.deepEqual([2 ** 53, {}, 'x'.repeat(501), '\u0000'].map(messageOf), [
      'is a number that cannot be stored exactly; send it as a string',
      'must be a string, a number, true, false or null',
      'must have at most 500 characters',
      'must not contain a NUL character or half of a surrogate pair',
    ]);
  });

  it('keep the values of filters as they are', () => {
    const given = [
      { event: 'issue.created' as const, filters: [{ field: 'status' as const, values: [null, 1, 'x'] }] },
    ];
    assert.deepEqual(subscriptions.parse(given), given);
  });
});
