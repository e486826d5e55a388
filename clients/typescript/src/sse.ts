/**
 * Yields the `data` of each message in a stream of server-sent events (HTML standard, section 9.2). Calls `onAlive` for each
 * received chunk, including comments.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  onAlive: () => void,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onAlive();
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      const blocks = lines.join('\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = dataOf(block);
        if (data !== null) yield data;
      }
    }
  } finally {
    // Ends the request if the consumer stops early.
    await reader.cancel().catch(() => {});
  }
}

function dataOf(block: string): string | null {
  const data = block
    .split('\n')
    .filter((line) => /^data(:|$)/.test(line))
    .map((line) => line.replace(/^data:? ?/, ''));
  return data.length === 0 ? null : data.join('\n');
}
