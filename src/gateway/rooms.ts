import type { ChannelCode } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { Connection } from './connection.ts';

/** A room that a client may join: its snapshot, and the events after it. No event is lost between the two. */
export type OpenRoom = {
  snapshot: Record<string, unknown>;
  /** The `seq` of the last event in the snapshot; 0 in rooms whose events are not numbered. */
  last_seq: number;
  /** Starts to send events. Returns a function that stops it. */
  follow(connection: Connection): () => void;
};

/** Opens the rooms of one kind. */
export type RoomOpener = {
  /**
   * Opens the room with this id for the holder of a token, starting after `after` (null: after the snapshot). Returns
   * a code if it is rejected.
   */
  open(holder: TokenHolder, id: string, after: number | null): Promise<OpenRoom | ChannelCode>;
  /** Returns the number of rooms with at least one connection. */
  count(): number;
  close(): void;
};
