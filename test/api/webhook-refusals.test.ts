import assert from 'node:assert/strict';
import { assertProblem } from './problems.ts';
import { useWorld } from '../support/world.ts';

const PLAN = { name: 'Chat', url: 'https://hooks.example.com/in', events: [{ event: 'issue.updated' }] };

/** Invalid members, and their errors: pointers with their codes. test/domain/webhook-plan.test.ts has all of them. */
type Case = [title: string, members: Record<string, unknown>, errors: Record<string, string>];

const ALWAYS_WRONG: Case[] = [
  [
    'several errors at once',
    { name: '', url: 'x', events: [], status: 'active' },
    { '/name': 'too_short', '/url': 'invalid_format', '/events': 'too_short', '/status': 'unknown_member' },
  ],
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
];

const WRONG_WHEN_CREATED: Case[] = [
  ['no name', { name: undefined }, { '/name': 'required' }],
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

  it('is rejected as a list', async () => {
    await assertRejected('POST', '/api/v1/webhooks', [PLAN], { '': 'wrong_type' });
  });
});

describe('the URL of a webhook', () => {
  const world = useWorld();
  const create = (url: string) => world.send('POST', '/api/v1/webhooks', { body: { ...PLAN, url } });

  // test/outbound/hidden-addresses.test.ts has more notations.
  const REFUSED = 'http://10.1/';
  for (const url of [REFUSED, 'http://169.254.169.254/latest/meta-data', 'http://[::ffff:a00:1]/']) {
    it(`cannot be ${url}`, async () => {
      const received = await create(url);
      assertProblem(received, 422, 'validation_failed');
      const [error] = received.json.errors;
      assert.deepEqual([error.pointer, error.code], ['/url', 'not_allowed'], received.text);
    });
  }

  for (const url of [
    'http://93.184.216.34/',
    'HTTPS://Hooks.Example.com:8443/a/b?c=d&e=%20',
    'https://käse.example/',
  ]) {
    it(`can be ${url}, and is returned unchanged`, async () => {
      const received = await create(url);
      assert.equal(received.status, 201, received.text);
      assert.equal(received.json.url, url);
    });
  }

  it('is also checked when it is changed', async () => {
    const { json } = await create('https://hooks.example.com');
    const received = await world.send('PATCH', `/api/v1/webhooks/${json.id}`, { body: { url: REFUSED } });
    assertProblem(received, 422, 'validation_failed');
    assert.equal((await world.send('GET', `/api/v1/webhooks/${json.id}`)).json.url, json.url);
  });
});
