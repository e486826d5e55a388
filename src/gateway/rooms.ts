import type { ChannelCode } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { Connection } from './connection.ts';

/**
 * A room that somebody may be in: how it looks now, and the way to what comes behind that. Nothing falls between the
 * snapshot and the first event.
 */
export type OpenRoom = {
  snapshot: Record<string, unknown>;
  /** The number of the last event that the snapshot includes; 0 in rooms whose events are not numbered. */
  last_seq: number;
  /** Begins to send what happens; the answer ends it. */
  follow(connection: Connection): () => void;
};

/** Opens the rooms of one kind. */
export type RoomOpener = {
  /**
   * The room of that id for the holder of a token, from behind `after` (null: from behind the snapshot). A refusal is
   * its code.
   */
  open(holder: TokenHolder, id: string, after: number | null): Promise<OpenRoom | ChannelCode>;
  /** How many rooms somebody is in. */
  count(): number;
  close(): void;
};
