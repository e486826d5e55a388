import assert from 'node:assert/strict';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import {
  dataOf,
  describeEvent,
  isFoundInKind,
  payloadText,
  searchWordsOf,
} from '../../src/domain/webhooks/event-payload.ts';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { EVENT_SCHEMAS } from '../../src/domain/webhooks/event-schemas.ts';

describe('the payload of an event', () => {
  it('contains id, event, timestamp, workspace and the unchanged data in this order', () => {
    const data = '{ "issue":{"id":"1","points":1.50},\n"x" : "\\u00e9é" }';
    const text = payloadText({
      id: 'a"b',
      event: 'issue.created',
      timestamp: '2026-01-31T12:00:00.000Z',
      workspace: { id: 'w', name: 'Größe\n' },
      data,
    });
    assert.equal(
      text,
      '{"id":"a\\"b","event":"issue.created","timestamp":"2026-01-31T12:00:00.000Z",' +
        `"workspace":{"id":"w","name":"Größe\\n"},"data":${data}}`,
    );
    assert.equal(JSON.parse(text).data.issue.points, 1.5);
  });
});

describe('the search words of an event', () => {
  it('are its objects, its actor, the ids of its objects, and parts of its words', () => {
    assert.equal(
      searchWordsOf('issue.updated', sampleData('issue.updated')),
      'SHOP-142 The cart forgets its coupon Ben Alvarez iss_481\n142',
    );
    assert.equal(
      searchWordsOf('comment.created', sampleData('comment.created')),
      'SHOP-142 The cart forgets its coupon Ada Okafor com_77 iss_481\n142',
    );
  });

  it('name the environment, version and status of a deployment', () => {
    assert.equal(
      searchWordsOf('deployment.completed', sampleData('deployment.completed')),
      'production 4.12.0 succeeded Ben Alvarez dep_205\n12.0 0',
    );
  });

  it('contain the end of a word after each punctuation once, so that each part of a word is found', () => {
    const title = '(sign-in) /sign-in, "it\'s":\r\n\tÄ-ö~😀 a__b [x]@`y{z}|_';
    const words = searchWordsOf('user.joined', { user: { id: 'u-1', name: title } });
    assert.equal(
      words,
      `${title.replace('\r\n\t', ' ')} u-1\n` +
        'sign-in) in) sign-in, in, it\'s": s": ö~😀 😀 b x]@`y{z}|_ y{z}|_ z}|_',
    );
  });

  it('contain the ids of objects with long titles', () => {
    const issue = { id: 'iss_1', key: 'SHOP-1', title: 'long '.repeat(1_000) };
    const words = searchWordsOf('issue.created', { issue });
    const [line = '', parts] = words.split('\n');
    // Without the space in front.
    assert.equal(line.length, 999);
    assert.match(line, /^SHOP-1 long .* iss_1$/);
    assert.equal(parts, '1');
  });

  it('can be stored and have at most two lines of 1,000 characters, for any data', () => {
    const issue = { id: 'a\u0000b', title: `\ud800${'-😀'.repeat(1_000)}`, key: 7, name: ['x\n'] };
    const words = searchWordsOf('issue.created', { issue, actor: { name: 'x\r\ny' } });
    const lengths = words.split('\n').map(({ length }) => length);
    assert.deepEqual(lengths, [999, 1_000]);
    assert.ok(words.isWellFormed() && !words.includes('\u0000'));
  });
});

describe('the description of an event', () => {
  const event = { id: 'evt_1', event: 'issue.created' } as const;

  it('is the first line of its search words', () => {
    assert.equal(describeEvent(event, 'SHOP-1 iss_1\n1'), 'SHOP-1 iss_1');
    assert.equal(describeEvent(event, 'SHOP-1 iss_1'), 'SHOP-1 iss_1');
  });

  it('lacks the id and kind that words of earlier versions begin with', () => {
    assert.equal(describeEvent(event, 'evt_1 issue.created iss_1 SHOP-1\ncreated 1'), 'iss_1 SHOP-1');
    assert.equal(describeEvent(event, 'evt_1 issue.created iss_1 SHOP-1'), 'iss_1 SHOP-1');
    // They may have any number of lines.
    assert.equal(describeEvent(event, 'evt_1 issue.created a\nb\nc'), 'a');
    assert.equal(describeEvent(event, 'evt_1 issue.createdx'), 'evt_1 issue.createdx');
  });

  it('is null if nothing describes it, or after the words were deleted', () => {
    for (const words of [
      '',
      'evt_1 issue.created',
      'evt_1 issue.created ',
      'evt_1 issue.created\ncreated',
      '\n1',
    ])
      assert.equal(describeEvent(event, words), null, words);
  });

  it('has the texts of the main object, in a fixed order', () => {
    const described = (data: Record<string, unknown>) =>
      describeEvent(event, searchWordsOf(event.event, data));
    const issue = { name: 'n', title: 't', key: 'k', id: 'i', status: 's' };
    assert.equal(described({ issue, actor: { id: 'u', name: 'Ada' } }), 'k t n Ada i');
    assert.equal(described({ issue: null, actor: null }), null);
    assert.equal(described({ issue: { id: 'i', key: 7, title: null } }), 'i');
    assert.equal(described({ issue: { id: 'a\u0000b' } }), 'a b');
    assert.equal(described({ issue: { id: 'a\ud800' } }), 'a\ufffd');
    assert.equal(described({ issue: { id: 'x'.repeat(2_000) } })?.length, 999);
  });

  it('also has the issue of a comment', () => {
    const words = searchWordsOf('comment.created', { comment: { id: 'c' }, issue: { key: 'SHOP-1' } });
    assert.equal(words, 'SHOP-1 c\n1');
  });
});

describe('a word of a search', () => {
  it('finds a kind by the beginning of the kind or of its last part, whatever the case', () => {
    for (const word of ['issue.created', 'ISSUE.cre', 'i', 'created', 'Crea'])
      assert.ok(isFoundInKind('issue.created', word), word);
    for (const word of ['issue.createdx', 'ssue', 'reated', 'issues', '.created', 'issue created'])
      assert.ok(!isFoundInKind('issue.created', word), word);
  });
});

describe('the data of a stored payload', () => {
  it('is what the event has', () => {
    const data = sampleData('user.joined');
    assert.deepEqual(dataOf(`{"id":"1","data":${JSON.stringify(data)}}`), data);
  });
});

describe('the sample data', () => {
  for (const kind of EVENT_KINDS) {
    it(`of ${kind} matches its schema and is a new object for each call`, () => {
      const sample = sampleData(kind);
      assert.deepEqual(EVENT_SCHEMAS[kind].parse(sample), sample);
      sample['actor'] = null;
      assert.notDeepEqual(sampleData(kind), sample);
    });
  }
});
