import { CHANNEL_CODES, type ChannelCode } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { Connection } from './connection.ts';

/** What a message of a client is answered with. */
export type Reply =
  | ({ ok: true } & Record<string, unknown>)
  | { ok: false; code: ChannelCode; message: string; room: string | null };

/** The client of a connection, as the handler of one of its messages sees it. */
export type Client = {
  connection: Connection;
  /** Whom the token speaks for, looked up anew. Null where they are gone: the connection is closed already. */
  holder(): Promise<TokenHolder | null>;
  /** Calls `listener` when the connection has ended, whatever the cause. */
  onceClosed(listener: () => void): void;
};

/** Handles one type of message. */
export type Handler = {
  /** The `type` under which a plain client gets the answer; a Socket.IO client gets it as the acknowledgement. */
  replyType: string;
  /** True for messages that we asked for: a good one does not count against the client's pace. */
  isSolicited?: boolean;
  /** `begin` is called once the reply is on its way: what follows comes behind it. */
  handle(client: Client, body: Record<string, unknown>): Promise<{ reply: Reply; begin?: () => void }>;
};

export function refusal(
  code: ChannelCode,
  room: string | null = null,
  message: string = CHANNEL_CODES[code],
): Reply {
  return { ok: false, code, message, room };
}
