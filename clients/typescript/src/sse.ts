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
  const read = createMessageReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onAlive();
      yield* read(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Ends the request if the consumer stops early.
    await reader.cancel().catch(() => {});
  }
}

/**
 * Returns a function that reads the next text of a stream and yields the `data` of each message that this text completes. It
 * searches only the new text, so that the time for a long message in many chunks is linear.
 */
function createMessageReader(): (text: string) => Generator<string> {
  /** The parts of the unfinished line. */
  let parts: string[] = [];
  /** The data lines of the unfinished message. */
  let data: string[] = [];
  let endedWithCr = false;
  return function* (text) {
    if (text === '') return;
    // The CR has already ended the line if a CR and its LF arrive in two chunks.
    const lines = (endedWithCr && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/);
    endedWithCr = text.endsWith('\r');
    const rest = lines.pop() ?? '';
    for (const end of lines) {
      const line = parts.join('') + end;
      parts = [];
      if (/^data(:|$)/.test(line)) data.push(line.replace(/^data:? ?/, ''));
      if (line !== '' || data.length === 0) continue;
      yield data.join('\n');
      data = [];
    }
    if (rest !== '') parts.push(rest);
  };
}
