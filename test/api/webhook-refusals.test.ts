import assert from 'node:assert/strict';
import { assertProblem } from './problems.ts';
import { useOwnWorld, useWorld } from '../support/world.ts';

const PLAN = { name: 'Chat', url: 'https://hooks.example.com/in', events: [{ event: 'issue.updated' }] };
const SUBSCRIBED = { event: 'issue.updated' };

/** Invalid members, and their errors: pointers with their codes. */
type Case = [title: string, members: Record<string, unknown>, errors: Record<string, string>];

const filters = (...given: unknown[]) => ({ events: [{ ...SUBSCRIBED, filters: given }] });
const FIRST = '/events/0/filters/0';
const status = (members: Record<string, unknown>) => filters({ field: 'status', ...members });
const many = (count: number, value: unknown) => Array.from({ length: count }, () => value);

const ALWAYS_WRONG: Case[] = [
  ['a blank name', { name: ' ' }, { '/name': 'blank' }],
  ['an empty name', { name: '' }, { '/name': 'too_short' }],
  ['a name of 201 characters', { name: 'ü'.repeat(201) }, { '/name': 'too_long' }],
  ['a name that is a number', { name: 5 }, { '/name': 'wrong_type' }],
  ['a name that is null', { name: null }, { '/name': 'wrong_type' }],
  ['a name with NUL', { name: 'a\u0000' }, { '/name': 'not_storable' }],
  ['a URL that is a number', { url: 5 }, { '/url': 'wrong_type' }],
  ['a URL that is null', { url: null }, { '/url': 'wrong_type' }],
  ['an empty URL', { url: '' }, { '/url': 'invalid_format' }],
  ['a URL without a scheme', { url: 'hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL without slashes', { url: 'https:hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL without a host', { url: 'https://' }, { '/url': 'invalid_format' }],
  ['a URL that is a file', { url: 'file:///etc/passwd' }, { '/url': 'invalid_format' }],
  ['a URL for FTP', { url: 'ftp://hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL that is a script', { url: 'javascript:alert(1)' }, { '/url': 'invalid_format' }],
  ['a URL with a user name', { url: 'https://me@hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL with credentials', { url: 'https://me:pw@hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL with a fragment', { url: 'https://hooks.example.com/#x' }, { '/url': 'invalid_format' }],
  ['a URL with an empty fragment', { url: 'https://hooks.example.com/#' }, { '/url': 'invalid_format' }],
  ['a URL with a space', { url: 'https://hooks.example.com/a b' }, { '/url': 'invalid_format' }],
  ['a URL with a line break', { url: 'https://hooks.example.com/\nx' }, { '/url': 'invalid_format' }],
  ['a URL with a backslash', { url: 'https:\\\\hooks.example.com' }, { '/url': 'invalid_format' }],
  ['a URL with an impossible port', { url: 'https://hooks.example.com:99999' }, { '/url': 'invalid_format' }],
  ['a URL of 2,049 characters', { url: `https://x.example/${'x'.repeat(2_031)}` }, { '/url': 'too_long' }],
  ['another method', { method: 'PUT' }, { '/method': 'not_allowed' }],
  ['a method in lower case', { method: 'post' }, { '/method': 'not_allowed' }],
  ['a method that is null', { method: null }, { '/method': 'not_allowed' }],
  ['another content type', { content_type: 'text/plain' }, { '/content_type': 'not_allowed' }],
  ['events that are null', { events: null }, { '/events': 'wrong_type' }],
  ['events that are not a list', { events: 'all' }, { '/events': 'wrong_type' }],
  ['no event', { events: [] }, { '/events': 'too_short' }],
  ['eleven events', { events: many(11, SUBSCRIBED) }, { '/events': 'too_long' }],
  ['an event twice', { events: [SUBSCRIBED, SUBSCRIBED] }, { '/events/1/event': 'not_allowed' }],
  ['an event that is a string', { events: ['issue.updated'] }, { '/events/0': 'wrong_type' }],
  ['an event without its kind', { events: [{}] }, { '/events/0/event': 'required' }],
  ['an unknown kind', { events: [{ event: 'issue.eaten' }] }, { '/events/0/event': 'not_allowed' }],
  ['a kind that is null', { events: [{ event: null }] }, { '/events/0/event': 'not_allowed' }],
  [
    'an unknown member of an event',
    { events: [{ ...SUBSCRIBED, x: 1 }] },
    { '/events/0/x': 'unknown_member' },
  ],
  [
    'filters that are not a list',
    { events: [{ ...SUBSCRIBED, filters: {} }] },
    { '/events/0/filters': 'wrong_type' },
  ],
  [
    'filters that are null',
    { events: [{ ...SUBSCRIBED, filters: null }] },
    { '/events/0/filters': 'wrong_type' },
  ],
  [
    'twenty-one filters',
    filters(...many(21, { field: 'status', changed_to: 'Done' })),
    { '/events/0/filters': 'too_long' },
  ],
  ['a filter that is a string', filters('status'), { [FIRST]: 'wrong_type' }],
  ['a filter without a field', filters({ changed_to: 'Done' }), { [`${FIRST}/field`]: 'required' }],
  [
    'a filter on an unknown field',
    filters({ field: 'colour', changed_to: 'red' }),
    { [`${FIRST}/field`]: 'not_allowed' },
  ],
  ['a filter without changed_to and values', status({}), { [FIRST]: 'required' }],
  [
    'a filter with changed_to and values',
    status({ changed_to: 'Done', values: ['Done'] }),
    { [FIRST]: 'not_allowed' },
  ],
  [
    'a filter with changed_to null and values',
    status({ changed_to: null, values: ['Done'] }),
    { [FIRST]: 'not_allowed' },
  ],
  [
    'an unknown member of a filter',
    status({ changed_to: 'Done', changed_from: 'To Do' }),
    { [`${FIRST}/changed_from`]: 'unknown_member' },
  ],
  ['changed_to as an object', status({ changed_to: {} }), { [`${FIRST}/changed_to`]: 'wrong_type' }],
  ['changed_to as a list', status({ changed_to: ['Done'] }), { [`${FIRST}/changed_to`]: 'wrong_type' }],
  [
    'changed_to of 501 characters',
    status({ changed_to: 'x'.repeat(501) }),
    { [`${FIRST}/changed_to`]: 'too_long' },
  ],
  ['changed_to with NUL', status({ changed_to: '\u0000' }), { [`${FIRST}/changed_to`]: 'not_storable' }],
  [
    'changed_to as an inexact number',
    status({ changed_to: 2 ** 60 }),
    { [`${FIRST}/changed_to`]: 'number_not_exact' },
  ],
  ['values that are a string', status({ values: 'Done' }), { [`${FIRST}/values`]: 'wrong_type' }],
  ['values that are null', status({ values: null }), { [`${FIRST}/values`]: 'wrong_type' }],
  ['no values', status({ values: [] }), { [`${FIRST}/values`]: 'too_short' }],
  ['101 values', status({ values: many(101, 'Done') }), { [`${FIRST}/values`]: 'too_long' }],
  ['values with an object', status({ values: ['Done', {}] }), { [`${FIRST}/values/1`]: 'wrong_type' }],
  ['an empty secret', { secret: '' }, { '/secret': 'too_short' }],
  ['a blank secret', { secret: '  ' }, { '/secret': 'blank' }],
  ['a secret of 257 characters', { secret: 'x'.repeat(257) }, { '/secret': 'too_long' }],
  ['a secret with a line break', { secret: 'a\nb' }, { '/secret': 'invalid_format' }],
  ['a secret with NUL', { secret: 'a\u0000b' }, { '/secret': 'not_storable' }],
  ['a secret with half a surrogate pair', { secret: 'a\ud800' }, { '/secret': 'not_storable' }],
  ['a secret that is a number', { secret: 1 }, { '/secret': 'wrong_type' }],
  [
    'a secret that is invalid in a header',
    { secret: 'grüße', include_secret_header: true },
    { '/secret': 'invalid_format' },
  ],
  [
    'a secret header without a secret',
    { include_secret_header: true },
    { '/include_secret_header': 'not_allowed' },
  ],
  ['standard headers without a secret', { standard_webhooks: true }, { '/standard_webhooks': 'not_allowed' }],
  [
    'options that are not booleans',
    { include_secret_header: 'true', active: 'yes', standard_webhooks: 1 },
    { '/include_secret_header': 'wrong_type', '/active': 'wrong_type', '/standard_webhooks': 'wrong_type' },
  ],
  ['options that are null', { active: null }, { '/active': 'wrong_type' }],
  ['an unknown member', { colour: 'red' }, { '/colour': 'unknown_member' }],
  [
    'read-only members',
    { id: 'x', status: 'active' },
    { '/id': 'unknown_member', '/status': 'unknown_member' },
  ],
  [
    'several errors at once',
    { name: '', url: 'x', events: [] },
    { '/name': 'too_short', '/url': 'invalid_format', '/events': 'too_short' },
  ],
];

const WRONG_WHEN_CREATED: Case[] = [
  ['no name', { name: undefined }, { '/name': 'required' }],
  ['no URL', { url: undefined }, { '/url': 'required' }],
  ['no events', { events: undefined }, { '/events': 'required' }],
  ['a secret that is null', { secret: null }, { '/secret': 'wrong_type' }],
];

describe('an invalid webhook', () => {
  const world = useWorld();
  let existing: string;
  let unchanged: string;
  before(async () => {
    const { json } = await world.send('POST', '/api/v1/webhooks', { body: PLAN });
    existing = `/api/v1/webhooks/${json.id}`;
    unchanged = (await world.send('GET', '/api/v1/webhooks')).text;
  });
  afterEach('the webhooks are unchanged', async () => {
    assert.equal((await world.send('GET', '/api/v1/webhooks')).text, unchanged);
  });

  const assertRejected = async (
    method: string,
    path: string,
    body: unknown,
    errors: Record<string, string>,
  ) => {
    const received = await world.send(method, path, { body });
    assertProblem(received, 422, 'validation_failed');
    const found = received.json.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]);
    assert.deepEqual(Object.fromEntries(found), errors, received.text);
  };

  for (const [title, members, errors] of [...ALWAYS_WRONG, ...WRONG_WHEN_CREATED]) {
    it(`with ${title} is not created`, async () => {
      await assertRejected('POST', '/api/v1/webhooks', { ...PLAN, ...members }, errors);
    });
  }

  for (const [title, members, errors] of ALWAYS_WRONG) {
    it(`with ${title} is not changed`, async () => await assertRejected('PATCH', existing, members, errors));
  }

  it('is rejected in a preview', async () => {
    const events = [{ event: 'issue.eaten' }];
    await assertRejected(
      'POST',
      '/api/v1/webhooks/preview',
      { events },
      { '/events/0/event': 'not_allowed' },
    );
    await assertRejected('POST', `${existing}/preview`, { limit: 101 }, { '/limit': 'too_large' });
    await assertRejected('POST', `${existing}/preview`, { limit: 0 }, { '/limit': 'too_small' });
    await assertRejected('POST', `${existing}/preview`, { limit: 1.5 }, { '/limit': 'wrong_type' });
  });

  for (const [title, raw, code] of [
    ['no body', '', 'malformed_json'],
    ['half a body', '{"name":', 'malformed_json'],
  ] as const) {
    it(`with ${title} returns 400`, async () => {
      const headers = { 'Content-Type': 'application/json' };
      assertProblem(await world.send('POST', '/api/v1/webhooks', { raw, headers }), 400, code);
    });
  }
  it('is rejected as a list', async () => {
    await assertRejected('POST', '/api/v1/webhooks', [PLAN], { '': 'wrong_type' });
  });
});

describe('the URL of a webhook', () => {
  const world = useOwnWorld({
    worker: false,
    environment: { OUTBOUND_ALLOW: '', WEBHOOKS_PER_WORKSPACE: '1000' },
  });
  const create = (url: string) => world.send('POST', '/api/v1/webhooks', { body: { ...PLAN, url } });

  const REFUSED = [
    'http://127.0.0.1/',
    'http://127.0.0.1:8080/x',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://0/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[::1]/',
    'http://[::]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://localhost/',
    'http://LOCALHOST:3000/',
    'http://localhost./',
    'http://api.localhost/',
    'http://１２７.0.0.1/',
    'http://127%2e0.0.1/',
  ];
  for (const url of REFUSED) {
    it(`cannot be ${url}`, async () => {
      const received = await create(url);
      assertProblem(received, 422, 'validation_failed');
      const [error] = received.json.errors;
      assert.deepEqual([error.pointer, error.code], ['/url', 'not_allowed'], received.text);
    });
  }

  const ALLOWED = [
    'http://93.184.216.34/',
    'https://[2606:2800:220:1:248:1893:25c8:1946]/',
    'https://hooks.example.com',
    'HTTPS://Hooks.Example.com:8443/a/b?c=d&e=%20',
    'https://hooks.example.com./',
    'https://käse.example/',
    'https://localhost.example.com/',
    'https://intranet/',
  ];
  for (const url of ALLOWED) {
    it(`can be ${url}, and is returned unchanged`, async () => {
      const received = await create(url);
      assert.equal(received.status, 201, received.text);
      assert.equal(received.json.url, url);
    });
  }

  it('is also checked when it is changed', async () => {
    const { json } = await create('https://hooks.example.com');
    const received = await world.send('PATCH', `/api/v1/webhooks/${json.id}`, { body: { url: REFUSED[0] } });
    assertProblem(received, 422, 'validation_failed');
    assert.equal((await world.send('GET', `/api/v1/webhooks/${json.id}`)).json.url, json.url);
  });
});
