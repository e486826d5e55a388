import assert from 'node:assert/strict';
import { readSse } from '../../clients/typescript/src/sse.ts';

const read = (...chunks: (string | Uint8Array)[]): Promise<string[]> => {
  const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk as string)));
  return Array.fromAsync(readSse(body as ReadableStream<Uint8Array>, () => {}));
};

describe('a stream of server-sent events', () => {
  const cases: ReadonlyArray<
    readonly [what: string, chunks: readonly string[], messages: readonly string[]]
  > = [
    ['one message', ['id: 7\nevent: x\ndata: {"a":1}\n\n'], ['{"a":1}']],
    ['comments', [': connected\n\ndata: a\n\n: still here\n\n'], ['a']],
    ['several data lines', ['data: a\ndata:b\ndata:  c\n\n'], ['a\nb\n c']],
    ['a message in pieces', ['da', 'ta: a', '\n', '\n'], ['a']],
    ['carriage returns in pieces', ['data: a\r', '\ndata: b\r\n\r', '\n'], ['a\nb']],
    ['no end', ['data: a\n\ndata: b\n'], ['a']],
  ];
  for (const [what, chunks, messages] of cases) {
    it(`is read with ${what}`, async () => assert.deepEqual(await read(...chunks), messages));
  }

  for (const lineEnd of ['\n', '\r', '\r\n']) {
    it(`is read with the line end ${JSON.stringify(lineEnd)} in chunks of any size`, async () => {
      const text =
        ': connected\n\nid: 1\ndata: {"a":\ndata: "é\u2028"}\n\ndata\n\n\ndata: 3\n\ndata: incomplete';
      const bytes = Buffer.from(text.replaceAll('\n', lineEnd));
      for (const size of [1, 2, 3, 7, 1_000]) {
        const count = Math.ceil(bytes.length / size);
        const chunks = Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
        assert.deepEqual(await read(...chunks), ['{"a":\n"é\u2028"}', '', '3'], `chunks of ${size} bytes`);
      }
    });
  }

  it('is read with a character that is split between two chunks', async () => {
    const bytes = Buffer.from('data: grün\n\n');
    const cut = bytes.indexOf(0xc3) + 1;
    assert.deepEqual(await read(bytes.subarray(0, cut), bytes.subarray(cut)), ['grün']);
  });
});
