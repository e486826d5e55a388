import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { processIo } from '../../cli/io.ts';
import { createOutput, jsonText, table } from '../../cli/output.ts';
import { describeCallback } from '../../cli/receiver.ts';
import { run } from '../../cli/run.ts';

/** Sets the title of a terminal, with C0 characters and with C1 characters, and reverses text. */
const HOSTILE = '\u001b]0;x\u0007 \u009d0;x\u009c \u009b2J \u007f \u202e\u2066 grün 😀';
/** All control characters except line feeds, and those that change the direction of text. */
const UNSAFE = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;

function collecting() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}

describe('the output of the command line', () => {
  it('contains no character that a terminal interprets as JSON, and keeps the value', () => {
    const value = { [HOSTILE]: [HOSTILE, { text: HOSTILE }] };
    const stdout = collecting();
    const output = createOutput(true, false, { ...processIo(), stdout: stdout.stream });
    output.document(value);
    output.jsonLine(value);
    const text = stdout.text();
    assert.doesNotMatch(text, UNSAFE);
    const line = text.trimEnd().split('\n').at(-1) ?? '';
    assert.deepEqual(JSON.parse(line), value);
    assert.deepEqual(JSON.parse(text.slice(0, text.length - line.length - 1)), value);
    assert.equal(jsonText('\u009b'), '"\\u009b"');
  });

  it('contains no such character in the body of a received request', () => {
    const callback = {
      receivedAt: new Date(),
      executionId: HOSTILE,
      status: HOSTILE,
      eventId: null,
      event: null,
      delivery: null,
      verified: true,
      reason: null,
      answered: 204,
      bytes: 2,
      body: { [HOSTILE]: HOSTILE },
    };
    assert.doesNotMatch(describeCallback(callback), UNSAFE);
  });

  it('has aligned columns, also with characters that take two', () => {
    const rows = [
      ['注文を確認', '1'],
      ['café 😀', '2'],
      ['x', '3'],
    ];
    assert.deepEqual(stripVTControlCharacters(table(['NAME', 'ID'], rows)).split('\n'), [
      'NAME        ID',
      '注文を確認  1',
      'café 😀     2',
      'x           3',
    ]);
  });

  it('contains no such character in errors', async () => {
    const stderr = collecting();
    const env = { BATON_URL: `ftp://example.com/${HOSTILE}`, BATON_API_KEY: 'bt_x' };
    const code = await run(['task', 'list'], { ...processIo(), env, stderr: stderr.stream });
    assert.equal(code, 2);
    assert.match(stderr.text(), /^baton: /);
    assert.doesNotMatch(stderr.text(), UNSAFE);
  });
});
