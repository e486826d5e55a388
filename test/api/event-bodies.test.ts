import assert from 'node:assert/strict';
import type { z } from 'zod';
import { cloudEventBodies } from '../../src/api/events/cloud-events.ts';
import { prepareRequest } from '../../src/api/events/prepare.ts';
import { eventsBody } from '../../src/api/events/schema.ts';
import { foundIn } from '../domain/found-problems.ts';

const issue = { id: '1' };
const good = { event: 'issue.created', data: { issue } };

function pointersIn(schema: z.ZodType, value: unknown): string[] {
  return foundIn(schema, value).map((found) => found.slice(0, found.indexOf(' ')));
}

/** test/domain/event-schemas.test.ts shows what is rejected in `data`. */
describe('a body with events is rejected with', () => {
  const timed = (timestamp: unknown) => ({ ...good, timestamp });
  const rows: [what: string, body: unknown, ...pointers: string[]][] = [
    ['null', null, ''],
    ['a string', 'x', ''],
    ['a list', [good], ''],
    ['an empty object', {}, '/event', '/data'],
    ['an unknown field', { ...good, foo: 1 }, '/foo'],
    ['a field of the payload', { ...good, workspace: {} }, '/workspace'],
    ['an unknown event', { ...good, event: 'issue.exploded' }, '/event'],
    ['an event in capitals', { ...good, event: 'Issue.Created' }, '/event'],
    ['an event that is not a string', { ...good, event: 1 }, '/event'],
    ['data that is null', { ...good, data: null }, '/data'],
    ['data that is a list', { ...good, data: [] }, '/data'],
    ['data that is a string', { ...good, data: '{}' }, '/data'],
    ['data that is nested too deeply', { ...good, data: { issue, x: nested(70) } }, '/data'],
    ['data of another kind', { ...good, data: { sprint: { id: '1' } } }, '/data/issue'],
    ['an id that is null', { ...good, id: null }, '/id'],
    ['an empty id', { ...good, id: '' }, '/id'],
    ['an id of 256 characters', { ...good, id: 'x'.repeat(256) }, '/id'],
    ['an id with a space', { ...good, id: 'a b' }, '/id'],
    ['an id with a line break', { ...good, id: 'a\n' }, '/id'],
    ['an id outside of ASCII', { ...good, id: 'é' }, '/id'],
    ['an id with DEL', { ...good, id: '\x7f' }, '/id'],
    ['a time that is a number', timed(1_700_000_000), '/timestamp'],
    ['a time without zone', timed('2026-01-31T12:00:00'), '/timestamp'],
    ['a date', timed('2026-01-31'), '/timestamp'],
    ['a time that does not exist', timed('2026-02-30T12:00:00Z'), '/timestamp'],
    ['a time before year 1', timed('0001-01-01T00:00:00+01:00'), '/timestamp'],
    ['a time of year 0', timed('0000-06-01T00:00:00Z'), '/timestamp'],
    ['a time after year 9999', timed('9999-12-31T23:59:59-01:00'), '/timestamp'],
    ['an empty list of events', { events: [] }, '/events'],
    ['501 events', { events: Array.from({ length: 501 }, () => good) }, '/events'],
    ['events that are an object', { events: {} }, '/events'],
    ['events together with an event', { events: [good], ...good }, '/event', '/data'],
    ['an entry that is null', { events: [good, null] }, '/events/1'],
    ['an entry that is a list', { events: [[]] }, '/events/0'],
    ['an invalid entry', { events: [{ ...good, id: '' }] }, '/events/0/id'],
  ];
  for (const [what, body, ...pointers] of rows) {
    it(what, () => assert.deepEqual(pointersIn(eventsBody, body).toSorted(), pointers.toSorted()));
  }
});

describe('a CloudEvent is rejected, alone and in a batch, with', () => {
  const event = { specversion: '1.0', id: 'ce-1', source: '/shop', type: 'issue.created', data: { issue } };
  const one = cloudEventBodies['application/cloudevents+json'];
  const batch = cloudEventBodies['application/cloudevents-batch+json'];
  const rows: [what: string, change: object, pointer: string][] = [
    ['another version', { specversion: '0.3' }, '/specversion'],
    ['no id', { id: undefined }, '/id'],
    ['no source', { source: undefined }, '/source'],
    ['an unknown type', { type: 'com.example.created' }, '/type'],
    ['an invalid time', { time: 'now' }, '/time'],
    ['data in base64', { data_base64: 'e30=' }, '/data_base64'],
    ['data of another type', { datacontenttype: 'text/xml' }, '/datacontenttype'],
    ['no data', { data: undefined }, '/data'],
    ['invalid data', { data: { issue: {} } }, '/data/issue/id'],
  ];
  for (const [what, change, pointer] of rows) {
    it(what, () => {
      assert.deepEqual(pointersIn(one, { ...event, ...change }), [pointer]);
      assert.deepEqual(pointersIn(batch, [event, { ...event, ...change }]), [`/1${pointer}`]);
    });
  }

  it('no list, or an empty one', () => {
    assert.deepEqual(pointersIn(batch, []), ['']);
    assert.deepEqual(pointersIn(batch, {}), ['']);
  });
});

describe('the content of an event', () => {
  const hashOf = async (text: string) => {
    const incoming = eventsBody.parse(JSON.parse(text));
    const { events } = await prepareRequest(incoming, text, { id: 'w', name: 'Test' }, new Date());
    return events[0]?.hash;
  };
  const withNumber = (number: string) =>
    hashOf(`{"id":"a","event":"issue.created","data":{"issue":{"id":"1","n":${number}}}}`);
  const EVENT = {
    id: 'a',
    event: 'issue.updated',
    timestamp: '2026-01-31T12:00:00Z',
    data: { issue: { id: '1', title: 'T' }, changes: [] },
  };
  let hash: string | undefined;
  before(async () => (hash = await hashOf(JSON.stringify(EVENT))));

  it('is the same in any notation', async () => {
    const other =
      '{"data":{"changes":[],"issue":{"title":"\\u0054","id":"1"}},"timestamp":"2026-01-31T13:00:00.000+01:00","event":"issue.updated","id":"a"}';
    for (const text of [JSON.stringify(EVENT, null, 2), other]) assert.equal(await hashOf(text), hash);
    const same = ['0.30000000000000004', '0.300000000000000040', '30000000000000004e-17'];
    const numbers = await Promise.all(same.map(withNumber));
    assert.equal(new Set(numbers).size, 1);
  });

  it('is compared as text if it has more than 10,000 values', async () => {
    // In addition to `data`, `issue`, `id`, `changes` and `list`.
    const withList = (count: number) => ({
      ...EVENT,
      data: { issue: { id: '1' }, changes: [], list: Array(count).fill(0) },
    });
    for (const [count, isSame] of [
      [9_995, true],
      [9_996, false],
    ] as const) {
      const event = withList(count);
      const text = await hashOf(JSON.stringify(event));
      assert.equal(text, await hashOf(JSON.stringify(event)));
      assert.equal(text === (await hashOf(JSON.stringify(event, null, 1))), isSame, `${count} entries`);
    }
  });

  const others: [what: string, change: object][] = [
    ['other data', { data: { issue: { id: '1', title: 'U' }, changes: [] } }],
    ['a further member', { data: { issue: { id: '1', title: 'T' }, changes: [], x: null } }],
    ['another kind', { event: 'issue.moved' }],
    ['another time', { timestamp: '2026-01-31T12:00:00.001Z' }],
    ['no time', { timestamp: undefined }],
  ];
  for (const [what, change] of others) {
    it(`differs with ${what}`, async () =>
      assert.notEqual(await hashOf(JSON.stringify({ ...EVENT, ...change })), hash));
  }

  it('differs with numbers that are equal in JavaScript, and with fields named __proto__', async () => {
    for (const [number, other] of [
      ['12345678901234567890', '12345678901234567891'],
      ['0.12345678901234567890', '0.12345678901234567891'],
      ['4503599627370497.3', '4503599627370497.4'],
      ['1e-400', '2e-400'],
    ] as const) {
      assert.equal(await withNumber(number), await withNumber(number));
      assert.notEqual(await withNumber(number), await withNumber(other), number);
    }
    const named = (value: number) =>
      hashOf(`{"id":"a","event":"issue.created","data":{"issue":{"id":"1"},"__proto__":{"n":${value}}}}`);
    assert.equal(await named(1), await named(1));
    assert.notEqual(await named(1), await named(2));
  });
});

function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce((inner) => [inner], 0 as unknown);
}
