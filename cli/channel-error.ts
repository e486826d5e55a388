import type { IncomingMessage } from 'node:http';
import { CHANNEL_CODES, type ChannelCode } from '../src/domain/channel/channel.ts';
import { printable } from './output.ts';

/** Why the channel said no or ended; `unreachable` where it did not say, or nothing of it is there. */
export class ChannelError extends Error {
  override name = 'ChannelError';
  readonly code: ChannelCode | 'unreachable';

  constructor(code: ChannelCode | 'unreachable', message: string) {
    super(message);
    this.code = code;
  }
}

/** The connection is gone, or never was. */
export function lost(why: string): ChannelError {
  const reason = printable(why);
  return new ChannelError(
    'unreachable',
    `The live channel is unreachable${reason === '' ? '' : ` (${reason})`}`,
  );
}

/** From a `refused` or `closed` message, or the problem that answers an upgrade. */
export function errorOf({ code, message, detail }: Record<string, unknown>): ChannelError {
  const words = [message, detail].find((text) => typeof text === 'string');
  if (typeof code !== 'string' || !isCode(code)) return lost(words ?? String(code));
  return new ChannelError(code, words === undefined ? CHANNEL_CODES[code] : printable(words));
}

/** From the reason of a close frame, which is a code where the server had something to say. */
export function endOf(reason: string): ChannelError {
  return isCode(reason) ? new ChannelError(reason, CHANNEL_CODES[reason]) : lost(reason);
}

const MAX_REFUSAL_BYTES = 16_384;

/** From the answer to an upgrade that was refused: of our channel, or of whatever stands in front of it. */
export async function refusedUpgrade(response: IncomingMessage): Promise<ChannelError> {
  const nothing = lost(`status ${response.statusCode}`);
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MAX_REFUSAL_BYTES) return nothing;
    }
    const problem: unknown = JSON.parse(text);
    const error = errorOf(problem as Record<string, unknown>);
    return error.code === 'unreachable' ? nothing : error;
  } catch {
    return nothing;
  }
}

function isCode(text: string): text is ChannelCode {
  return Object.hasOwn(CHANNEL_CODES, text);
}
