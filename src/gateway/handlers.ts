import { CHANNEL_CODES, type ChannelCode } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { Connection } from './connection.ts';

/** The reply to a client message. */
export type Reply =
  | ({ ok: true } & Record<string, unknown>)
  | { ok: false; code: ChannelCode; message: string; room: string | null };

/** The client of a connection, as passed to the handler of a message. */
export type Client = {
  connection: Connection;
  /** Returns the current holder of the token; null if it no longer exists and the connection is closed. */
  holder(): Promise<TokenHolder | null>;
  /** Calls `listener` after each check of the token, with its holder. Returns a function that ends this. */
  onHolder(listener: (holder: TokenHolder) => void): () => void;
  /** Calls `listener` when the connection has closed, for any reason. */
  onceClosed(listener: () => void): void;
};

/** The result of a message. `begin` is called after the reply was sent. */
export type Handled = { reply: Reply; begin?: () => void };

/** Handles one type of message. */
export type Handler = {
  /** The `type` of the reply to a plain client. A Socket.IO client gets the reply as acknowledgement. */
  replyType: string;
  /** True for replies to requests of the service. A valid one does not count against the client's rate limit. */
  isSolicited?: boolean;
  /**
   * Checks a message when it arrives. Returns the refusal, or the work for its turn, which keeps only what it needs: many
   * messages may wait.
   */
  read(client: Client, body: Record<string, unknown>): Reply | (() => Promise<Handled>);
};

export function refusal(
  code: ChannelCode,
  room: string | null = null,
  message: string = CHANNEL_CODES[code],
): Reply {
  return { ok: false, code, message, room };
}
