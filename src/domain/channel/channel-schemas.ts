import { z } from 'zod';
import { MAX_ROOM_LENGTH, MAX_TOKEN_LENGTH } from '../common/limits.ts';

/**
 * Schemas of client messages on the live channel (docs/channel.md). They validate the messages, and the description of
 * the channel is generated from them. A plain message has `type` and may have `id` in addition to these fields. A Socket.IO
 * message is an event of that name with one of these as its only argument.
 */

const EXAMPLE_ROOM = 'workflow:0199c2a4-5b7e-7a31-9a54-3f0c8b1d2e6f';
const room = z.string().max(MAX_ROOM_LENGTH).describe('`workflow:<execution_id>` or `webhook:<id>`');

/** `join`: join a room. */
export const joinMessage = z
  .strictObject({
    room,
    after: z
      .int()
      .min(0)
      .max(2_147_483_647)
      .optional()
      .describe(
        '`seq` of the last event that the client has; later events are sent first. 0: all events. Default: events after the snapshot',
      ),
  })
  .meta({
    id: 'Join',
    description: 'Join a room',
    examples: [{ room: EXAMPLE_ROOM }, { room: EXAMPLE_ROOM, after: 17 }],
  });

/** `leave`: leave a room. */
export const leaveMessage = z.strictObject({ room }).meta({
  id: 'Leave',
  description: 'Leave a room',
  examples: [{ room: EXAMPLE_ROOM }],
});

/** `renew`: continue with a newer token. */
export const renewMessage = z
  .strictObject({
    token: z.string().max(MAX_TOKEN_LENGTH).describe('New token for the same project'),
  })
  .meta({
    id: 'Renew',
    description: 'Continue with a new token before the current one expires',
    examples: [{ token: 'eyJhbGciOiJIUzI1NiJ9.…' }],
  });
