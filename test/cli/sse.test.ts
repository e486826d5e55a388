import assert from 'node:assert/strict';
import { readSse, type SseMessage } from '../../cli/sse.ts';

async function read(chunks: readonly (string | Uint8Array)[]): Promise<SseMessage[]> {
  async function* bytes() {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }
  return await Array.fromAsync(readSse(bytes()));
}

describe('a stream of server-sent events', () => {
  const cases: ReadonlyArray<
    readonly [what: string, chunks: readonly string[], messages: readonly SseMessage[]]
  > = [
    ['one message', ['id: 7\nevent: x\ndata: {"a":1}\n\n'], [{ id: '7', event: 'x', data: '{"a":1}' }]],
    ['comments', [': connected\n\ndata: a\n\n: still here\n\n'], [{ id: null, event: 'message', data: 'a' }]],
    [
      'several data lines',
      ['data: a\ndata:b\ndata:  c\n\n'],
      [{ id: null, event: 'message', data: 'a\nb\n c' }],
    ],
    ['a message in pieces', ['da', 'ta: a', '\n', '\n'], [{ id: null, event: 'message', data: 'a' }]],
    [
      'carriage returns in pieces',
      ['data: a\r', '\ndata: b\r\n\r', '\n'],
      [{ id: null, event: 'message', data: 'a\nb' }],
    ],
    ['no end', ['data: a\n\ndata: b\n'], [{ id: null, event: 'message', data: 'a' }]],
  ];
  for (const [what, chunks, messages] of cases) {
    it(`is read with ${what}`, async () => assert.deepEqual(await read(chunks), messages));
  }

  it('is read where a letter is cut in two', async () => {
    const bytes = Buffer.from('data: grün\n\n');
    const cut = bytes.indexOf(0xc3) + 1;
    const [message] = await read([bytes.subarray(0, cut), bytes.subarray(cut)]);
    assert.equal(message?.data, 'grün');
  });
});
