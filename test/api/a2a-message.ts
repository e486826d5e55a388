import { randomUUID } from 'node:crypto';

/** Returns a message of a user over A2A, as JSON. */
export function a2aMessage(fields: object = {}): object {
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'A task' }], ...fields };
}
