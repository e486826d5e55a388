import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { filtersOf } from '../../cli/describe-webhook.ts';
import { eventBodyOf, type SendOptions } from '../../cli/event-options.ts';
import { processIo } from '../../cli/io.ts';
import { table } from '../../cli/output.ts';
import { sparkline } from '../../cli/sparkline.ts';
import { timeOf } from '../../cli/times.ts';
import { type EventOptions, newSecret, subscriptionsOf } from '../../cli/webhook-options.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';

const io = processIo();
const usage = (message: RegExp) => ({ exitCode: 2, message });

describe('the events of a webhook on the command line', () => {
  const created = 'issue.created';
  const updated = 'issue.updated';

  const right: ReadonlyArray<readonly [what: string, options: EventOptions, expected: unknown]> = [
    ['omitted', {}, undefined],
    ['one kind', { event: [created] }, [{ event: created, filters: [] }]],
    [
      'kinds with commas, each once',
      { event: [`${created},${updated}`, created] },
      [
        { event: created, filters: [] },
        { event: updated, filters: [] },
      ],
    ],
    ['all kinds', { event: ['all'] }, EVENT_KINDS.map((event) => ({ event, filters: [] }))],
    [
      'kinds by a prefix',
      { event: ['sprint.*'] },
      ['sprint.started', 'sprint.completed'].map((event) => ({ event, filters: [] })),
    ],
    [
      'values',
      { event: [created], filter: ['priority=High, Very high'] },
      [{ event: created, filters: [{ field: 'priority', values: ['High', 'Very high'] }] }],
    ],
    [
      'values with a comma in quotes',
      { event: [created], filter: ['project="A, B",C'] },
      [{ event: created, filters: [{ field: 'project', values: ['A, B', 'C'] }] }],
    ],
    [
      'a change',
      { event: [updated], filter: ['status->Done=ok'] },
      [{ event: updated, filters: [{ field: 'status', changed_to: 'Done=ok' }] }],
    ],
    [
      'a filter for one of two kinds, and one for both',
      { event: [created, updated], filter: ['issue.updated:status->Done', 'type=Story'] },
      [
        { event: created, filters: [{ field: 'type', values: ['Story'] }] },
        {
          event: updated,
          filters: [
            { field: 'status', changed_to: 'Done' },
            { field: 'type', values: ['Story'] },
          ],
        },
      ],
    ],
    [
      'JSON',
      { events: '[{"event":"issue.created","filters":[{"field":"priority","values":[1,null]}]}]' },
      [{ event: created, filters: [{ field: 'priority', values: [1, null] }] }],
    ],
  ];
  for (const [what, options, expected] of right) {
    it(`can be ${what}`, async () => {
      assert.deepEqual(await subscriptionsOf(options, io), expected);
    });
  }

  const wrong: ReadonlyArray<readonly [what: string, options: EventOptions, message: RegExp]> = [
    ['a filter without an event', { filter: ['a=b'] }, /requires --event/],
    ['a filter for another kind', { event: [created], filter: ['issue.updated:a=b'] }, /no --event names/],
    ['a filter without an operator', { event: [created], filter: ['status'] }, /must be FIELD=VALUE or/],
    ['a prefix of no kind', { event: ['bug.*'] }, /starts with "bug\."/],
    ['invalid JSON', { events: '[' }, /--events: \[ is not valid JSON/],
    ['both forms', { events: '[]', event: [created] }, /--events, or --event/],
    ['a broken value in quotes', { event: [created], filter: ['status->"Done'] }, /is not valid JSON/],
  ];
  for (const [what, options, message] of wrong) {
    it(`cannot be ${what}`, async () => {
      await assert.rejects(subscriptionsOf(options, io), usage(message));
    });
  }

  it('are shown in the format in which they can be written', async () => {
    const filter = ['status->Done', 'project="A, B",C'];
    const [subscription] = (await subscriptionsOf({ event: [created], filter }, io)) as [
      { filters: Parameters<typeof filtersOf>[0] },
    ];
    assert.equal(filtersOf(subscription.filters), filter.join(' and '));
    assert.equal(filtersOf([{ field: 'priority', values: [1, null, true] }]), 'priority=1,null,true');
  });
});

describe('the secret of a new webhook', () => {
  it('is 32 random bytes in hex unless it is disabled', async () => {
    const { secret, madeHere } = await newSecret({ secret: true }, io);
    assert.match(secret ?? '', /^[0-9a-f]{64}$/);
    assert.equal(madeHere, true);
    assert.notEqual((await newSecret({ secret: true }, io)).secret, secret);
    assert.equal((await newSecret({ secret: false }, io)).secret, undefined);
    await assert.rejects(newSecret({ secret: false, secretFile: 'x' }, io), usage(/either/));
  });
});

describe('the body of an event, on the command line', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-events-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const unusedApi = () => {
    throw new Error('the service was called');
  };
  const bodyOf = (options: SendOptions) => eventBodyOf(options, unusedApi, io);
  const fileWith = (content: string) => {
    const path = join(folder, 'events');
    writeFileSync(path, content);
    return path;
  };

  it('contains the unchanged text of the data', async () => {
    const data = '{ "issue": {"id":"1", "points":1.50e1, "n":12345678901234567890} }';
    const expected = `{"id":"e\\"1","event":"issue.created","timestamp":"t","data":${data}}`;
    const options = { event: 'issue.created', id: 'e"1', timestamp: 't' };
    assert.equal(await bodyOf({ ...options, data }), expected);
    assert.equal(await bodyOf({ ...options, data: `@${fileWith(`${data}\n`)}` }), expected);
  });

  const files: ReadonlyArray<readonly [what: string, content: string, expected: string]> = [
    ['an array', '[ {"a":1.0} ]\n', '{"events":[ {"a":1.0} ]}'],
    ['an object with events', '{"events":[{"a":1.0}]}', '{"events":[{"a":1.0}]}'],
    ['one event', '{"event":"x"}', '{"event":"x"}'],
    ['lines', '{"a":1.0}\n\n{"b":2}\n', '{"events":[{"a":1.0},{"b":2}]}'],
  ];
  for (const [what, content, expected] of files) {
    it(`can come from a file with ${what}`, async () => {
      assert.equal(await bodyOf({ file: fileWith(content) }), expected);
    });
  }

  const wrong: ReadonlyArray<readonly [what: string, options: () => SendOptions, message: RegExp]> = [
    ['no options', () => ({}), /--event or --file/],
    ['no data', () => ({ event: 'issue.created' }), /either --data or --sample/],
    ['data and a sample', () => ({ event: 'a', data: '{}', sample: true }), /either --data or --sample/],
    ['data that is not valid JSON', () => ({ event: 'a', data: '{' }), /--data is not valid JSON/],
    ['a file and more', () => ({ file: 'x', id: 'y' }), /without other options/],
    ['a missing file', () => ({ file: join(folder, 'none') }), /Cannot read/],
    ['a file that is not valid JSON', () => ({ file: fileWith('hello') }), /--file is not valid JSON$/],
    ['a broken line', () => ({ file: fileWith('{}\n\n{\n{}') }), /line 2 is not valid JSON/],
  ];
  for (const [what, options, message] of wrong) {
    it(`cannot come from ${what}`, async () => {
      await assert.rejects(bodyOf(options()), usage(message));
    });
  }
});

describe('a time on the command line', () => {
  const now = new Date('2026-05-02T12:00:00Z');
  const right = [
    ['30m', 'ago', '2026-05-02T11:30:00.000Z'],
    ['7d', 'ago', '2026-04-25T12:00:00.000Z'],
    ['90s', 'ahead', '2026-05-02T12:01:30.000Z'],
    ['12h', 'ahead', '2026-05-03T00:00:00.000Z'],
    ['2026-05-01T10:00:00+02:00', 'ago', '2026-05-01T08:00:00.000Z'],
    ['2026-05-01', 'ago', '2026-05-01T00:00:00.000Z'],
  ] as const;
  for (const [text, direction, expected] of right) {
    it(`can be ${text} ${direction}`, () => assert.equal(timeOf('--since', text, direction, now), expected));
  }
  for (const text of ['', 'soon', '5', '5w', '-5m', '2026', '2026-13-01', '01/02/2026']) {
    it(`cannot be "${text}"`, () =>
      assert.throws(() => timeOf('--since', text, 'ago', now), usage(/--since/)));
  }
});

describe('the sparkline of the last hours', () => {
  const hour = (succeeded: number, failed = 0) => ({ succeeded, failed });

  it('has a character for each hour, as high as its number of attempts', () => {
    const drawn = stripVTControlCharacters(sparkline([hour(0), hour(1), hour(2, 2), hour(0, 8), hour(0)]));
    assert.equal(drawn, '·▁▄█·');
  });

  it('is aligned in a table', () => {
    const drawn = { drawn: '\u001B[32m▁\u001B[39m█' };
    const lines = table(
      ['A', 'B'],
      [
        [drawn, 'x'],
        ['long', 'y'],
      ],
    )
      .split('\n')
      .map(stripVTControlCharacters);
    assert.deepEqual(lines, ['A     B', '▁█    x', 'long  y']);
  });
});
