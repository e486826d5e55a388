import assert from 'node:assert/strict';
import { entrySpans, fieldSpan, orderedJson, type Span } from '../../src/domain/common/json-spans.ts';

const cut = (text: string, span: Span | null) => (span === null ? null : text.slice(span.start, span.end));

describe('the span of a member in a JSON text', () => {
  const member = (text: string) => cut(text, fieldSpan(text, 'data'));

  const TABLE: [what: string, text: string, found: string | null][] = [
    ['contains the original text', '{"data":{ "b" : 1.50 , "a":[ ] }}', '{ "b" : 1.50 , "a":[ ] }'],
    ['excludes surrounding white space', ' \n{ "data" \t:\r\n {"a":1} \n} ', '{"a":1}'],
    ['is null if only nested values have the name', '{"a":{"data":1},"b":["data"]}', null],
    ['is null for an empty object', '{}', null],
    ['ignores the name inside a string', '{"x":"\\"data\\":{}","data":{"y":1}}', '{"y":1}'],
    ['is that of the last member with the name', '{"data":{"a":1},"id":"x","data":{"a":2}}', '{"a":2}'],
    ['is found under an escaped name', '{"d\\u0061ta":{"a":1}}', '{"a":1}'],
    ['can contain brackets in strings', '{"data":{"a":"}]{[\\\\"},"id":1}', '{"a":"}]{[\\\\"}'],
    ['can contain escaped quotes', '{"data":{"a":"\\\\\\"}"},"id":1}', '{"a":"\\\\\\"}"}'],
    ['can contain characters of all planes', '{"ü":"😀","data":{"é":"\\ud83d"}}', '{"é":"\\ud83d"}'],
    ['can be that of a number', '{"data":-1.0e+5 ,"x":1}', '-1.0e+5'],
    ['can be that of the last member', '{"data":null}', 'null'],
    ['can be that of a list', '{"data":[1,[2]],"x":1}', '[1,[2]]'],
    ['is not that of another name of the same length', '{"data":1,"dato":2}', '1'],
    ['is not that of a longer name', '{"data":1,"data2":2}', '1'],
    ['is not that of another escaped name', '{"data":1,"d\\u0061to":2}', '1'],
  ];
  for (const [what, text, found] of TABLE) {
    it(what, () => assert.equal(member(text), found));
  }

  it('is found in every entry of an array', () => {
    const text = '{"events": [ {"data":{"n":1.0}},{"data":{"n":2}, "id":"]"} ,{"data":{}}]}';
    const list = fieldSpan(text, 'events');
    const entries = entrySpans(text, list?.start);
    assert.deepEqual(
      entries.map(({ start }) => cut(text, fieldSpan(text, 'data', start))),
      ['{"n":1.0}', '{"n":2}', '{}'],
    );
    assert.deepEqual(entrySpans('[ ]'), []);
    assert.deepEqual(
      entrySpans('[1,"a" ,null]').map((span) => cut('[1,"a" ,null]', span)),
      ['1', '"a"', 'null'],
    );
  });
});

describe('a JSON text without white space', () => {
  it('has its entries and values in their order', () => {
    assert.equal(orderedJson(' [ 1 , [ ] , { } , "x" ] '), '[1,[],{},"x"]');
    assert.equal(orderedJson(' 1.50'), '1.5');
  });

  it('keeps names that look like numbers where they are, at any depth', () => {
    const text = '{ "b": 1, "10": [ {"z":1,"2":{ "1":1.50,"0":"\\u0041" }} ], "2": 1e2, "b": 2 }';
    assert.equal(orderedJson(text), '{"b":2,"10":[{"z":1,"2":{"1":1.5,"0":"A"}}],"2":100}');
  });
});
