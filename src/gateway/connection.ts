import type { ChannelCode } from '../domain/channel/channel.ts';
import type { Message } from './message.ts';

/** One client, in whichever way it speaks. */
export type Connection = {
  readonly id: string;
  /** Hands a message over; nothing is done where the connection is closed. */
  send(message: Message): void;
  /** Bytes that were handed over and that the client has not taken yet. */
  pendingBytes(): number;
  /** Calls `listener` once, when nothing is pending any more. */
  onceDrained(listener: () => void): void;
  /** Says why, then ends. */
  close(code: ChannelCode): void;
};
