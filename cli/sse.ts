/** One message of a server-sent event stream (HTML standard, 9.2). `data` lines are joined with line feeds. */
export type SseMessage = { id: string | null; event: string; data: string };

/**
 * Reads a stream message by message; comments are left out. `onAlive` is called for whatever comes, comments
 * included, so that the caller notices a stream that went dead.
 */
export async function* readSse(
  body: AsyncIterable<Uint8Array>,
  onAlive: () => void = () => {},
): AsyncGenerator<SseMessage> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    onAlive();
    const text = rest + decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be half of a line end.
    const whole = text.endsWith('\r') ? text.length - 1 : text.length;
    const normal = text.slice(0, whole).replaceAll(/\r\n?/g, '\n') + text.slice(whole);
    const blocks = normal.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = messageOf(block);
      if (message !== null) yield message;
    }
  }
}

function messageOf(block: string): SseMessage | null {
  const data: string[] = [];
  let id: string | null = null;
  let event = 'message';
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
  }
  return data.length === 0 ? null : { id, event, data: data.join('\n') };
}
