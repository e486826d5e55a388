import type { IncomingMessage } from 'node:http';
import { CHANNEL_CODES, type ChannelCode } from '../src/domain/channel/channel.ts';
import { printable } from './output.ts';

/** An error or the close of the channel; `unreachable` if there is no code from the service. */
export class ChannelError extends Error {
  override name = 'ChannelError';
  readonly code: ChannelCode | 'unreachable';

  constructor(code: ChannelCode | 'unreachable', message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns the error of a lost or failed connection. */
export function connectionLost(why: string): ChannelError {
  const reason = printable(why);
  return new ChannelError(
    'unreachable',
    `The live channel is unreachable${reason === '' ? '' : ` (${reason})`}`,
  );
}

/** Returns the error of a `refused` or `closed` message, or of a problem. */
export function errorOf({ code, message, detail }: Record<string, unknown>): ChannelError {
  const words = [message, detail].find((text) => typeof text === 'string');
  if (typeof code !== 'string' || !isCode(code)) return connectionLost(words ?? String(code));
  return new ChannelError(code, words === undefined ? CHANNEL_CODES[code] : printable(words));
}

/** Returns the error of a close frame, whose reason is a code of the service or empty. */
export function endOf(reason: string): ChannelError {
  return isCode(reason) ? new ChannelError(reason, CHANNEL_CODES[reason]) : connectionLost(reason);
}

const MAX_REFUSAL_BYTES = 16_384;

/** Returns the error of a rejected upgrade, by the channel or by a proxy in front of it. */
export async function refusedUpgrade(response: IncomingMessage): Promise<ChannelError> {
  const nothing = connectionLost(`status ${response.statusCode}`);
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
