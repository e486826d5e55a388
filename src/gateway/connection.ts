import type { ChannelCode } from '../domain/channel/channel.ts';
import type { Message } from './message.ts';

/** One client, of any transport. */
export type Connection = {
  readonly id: string;
  /** Sends a message; does nothing if the connection is closed. */
  send(message: Message): void;
  /** Sent bytes that the client has not received yet. */
  pendingBytes(): number;
  /** Calls `listener` once, when nothing is pending. */
  onceDrained(listener: () => void): void;
  /** Sends the reason, then closes. */
  close(code: ChannelCode): void;
};
